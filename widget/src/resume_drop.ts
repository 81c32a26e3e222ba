/** Uploads a résumé that is dropped on the chat or chosen as a file, and shows the progress of its reading. */

import type { ResumeView } from "./api.ts";
import type { Backend } from "./backend.ts";
import { element, icon, iconButton, spinner } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";

const POLL_MS = 1_500;
const LARGEST_BYTES = 4 * 1024 * 1024;
const UNDER_WAY = new Set(["reading", "parsing", "checking", "saving"]);
const FAILED = new Set(["failed", "stopped"]);

/** The accepted file types, in the format of a file input. */
export const RESUME_FILES = ".pdf,.docx,.md,.markdown,.txt";
export const isUnderWay = ({ status }: ResumeView) => UNDER_WAY.has(status);

/** Uploads a résumé, unless it is too large. */
export async function sendResume(backend: Backend, file: File, signal?: AbortSignal): Promise<ResumeView> {
  if (file.size > LARGEST_BYTES) throw new ChatError("too_long", strings.resume.tooLarge);
  const path = `/api/resumes?name=${encodeURIComponent(file.name.slice(0, 120))}`;
  return backend.json<ResumeView>("POST", path, { file, ...(signal && { signal }) });
}

interface Uses {
  backend: () => Backend;
  /** Opens the pending approvals. */
  review: () => void;
}

export class ResumeDrop {
  #uses: Uses;
  #work = new AbortController();
  readonly file = element("input", { type: "file", accept: RESUME_FILES, hidden: true, change: () => this.#choose() });
  readonly line = element("div", { class: "notice resume", role: "status", hidden: true });
  readonly button = iconButton("attach", strings.resume.add, () => this.file.click(), { class: "icon-button attach" });

  constructor(uses: Uses) {
    this.#uses = uses;
  }

  /** Files may be dropped anywhere on this element. */
  watch(target: HTMLElement) {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      target.toggleAttribute("data-drop", event.type !== "dragleave" && event.type !== "drop");
    };
    for (const type of ["dragenter", "dragover", "dragleave", "drop"] as const) target.addEventListener(type, over);
    target.addEventListener("drop", (event) => {
      const file = event.dataTransfer?.files[0];
      if (file) this.#take(file);
    });
  }

  /** Stops polling for the progress; the reading continues. */
  stop() {
    this.#work.abort();
    this.line.hidden = true;
  }

  #choose() {
    const file = this.file.files?.[0];
    this.file.value = ""; // so that the same file can be chosen again
    if (file) this.#take(file);
  }

  async #take(file: File) {
    this.#work.abort();
    const { signal } = (this.#work = new AbortController());
    this.#tell(strings.resume.sending, spinner());
    try {
      let resume = await sendResume(this.#uses.backend(), file, signal);
      while (isUnderWay(resume)) {
        this.#tell(strings.resume.underWay(resume.label), spinner());
        await new Promise((go) => setTimeout(go, POLL_MS));
        if (signal.aborted) return;
        resume = await this.#uses.backend().json<ResumeView>("GET", `/api/resumes/${encodeURIComponent(resume.id)}`, { signal });
      }
      this.#end(resume);
    } catch (error) {
      if (!signal.aborted) this.#tell(ChatError.from(error).message, icon("alert"));
    }
  }

  #end({ status, label }: ResumeView) {
    if (status !== "proposed") return this.#tell(label, icon(FAILED.has(status) ? "alert" : "check"));
    this.#tell(strings.resume.read, icon("check"));
    const review = () => {
      this.line.hidden = true;
      this.#uses.review();
    };
    this.line.lastElementChild?.before(element("button", { type: "button", class: "quiet", click: review }, strings.shared.review));
  }

  #tell(sentence: string, mark: Node) {
    const close = iconButton("close", strings.shared.close, () => this.stop());
    this.line.replaceChildren(mark, element("span", {}, sentence), close);
    this.line.hidden = false;
  }
}
