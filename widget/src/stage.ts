import type { ApprovalView } from "./api.ts";

const FINAL = new Set(["rejected", "revised", "expired", "done", "failed", "changed", "gone"]);

/** 0: waits for the user · 1: decided, in progress · 2: ended. */
export const stage = ({ status }: Pick<ApprovalView, "status">) =>
  status === "pending" || status === "frozen" ? 0 : FINAL.has(status) ? 2 : 1;
