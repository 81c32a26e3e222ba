import type { ApprovalView } from "./api.ts";

const FINAL = new Set(["rejected", "revised", "expired", "done", "failed", "changed", "gone"]);

/** 0: waits for its user · 1: decided, and under way · 2: at an end. */
export const stage = ({ status }: Pick<ApprovalView, "status">) =>
  status === "pending" || status === "frozen" ? 0 : FINAL.has(status) ? 2 : 1;
