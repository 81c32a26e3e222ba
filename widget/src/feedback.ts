import type { FeedbackView, Thumb } from "./api.ts";
import { WORDS_LIMIT, characters, element, grow, iconButton, isEnter, showCount } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";

/**
 * Feedback on one answer: a thumb and, after thumbs down, a comment. `post` stores {thumb, words?}; null removes it.
 * The page has one per answer and reuses it each time the answer is rendered, so that typed text is not lost. A press
 * overrides what is read later, because that request may have begun before the press.
 */
export class Feedback {
  readonly element: HTMLElement;
  #post: (feedback: FeedbackView | null) => Promise<unknown>;
  #announce: (sentence: string) => void;
  #kept: FeedbackView | null = null; // stored by the server
  #wanted: FeedbackView | null = null; // shown
  #pressed = false;
  #posting = false;
  #asking = false;
  #up = iconButton("up", strings.feedback.good, () => this.#press("up"), { class: "icon-button thumb" });
  #down = iconButton("down", strings.feedback.notHelpful, () => this.#press("down"), { class: "icon-button thumb" });
  #note = element("p", { class: "problem", hidden: true });
  #field = element("textarea", {
    rows: "1",
    "aria-label": strings.feedback.whatWasWrong,
    placeholder: strings.feedback.whatWasWrongOptional,
    enterkeyhint: "send",
    keydown: (event: KeyboardEvent) => this.#key(event),
    input: () => this.#type(),
  });
  #send = element("button", { type: "button", class: "quiet", "aria-label": strings.feedback.sendWhatWasWrong, click: () => this.#say() }, strings.shared.send);
  #counter = element("p", { class: "counter" });
  #form: HTMLElement;

  constructor(post: (feedback: FeedbackView | null) => Promise<unknown>, announce: (sentence: string) => void) {
    this.#post = post;
    this.#announce = announce;
    const box = element("div", { class: "box", click: () => this.#field.focus() }, this.#field, this.#send);
    this.#form = element("div", { class: "wrong", keydown: (event: KeyboardEvent) => this.#escape(event) }, box, this.#counter);
    const thumbs = element("div", { class: "thumbs" }, this.#up, this.#down);
    this.element = element("div", { class: "feedback" }, thumbs, this.#note, this.#form);
    this.#show();
  }

  load(kept: FeedbackView | null) {
    if (this.#pressed) return;
    this.#kept = this.#wanted = kept;
    this.#show();
  }

  #press(thumb: Thumb) {
    const again = this.#wanted?.thumb === thumb;
    this.#asking = thumb === "down" && !again;
    this.#want(again ? null : { thumb });
    this.#reveal();
  }

  #type() {
    this.#show();
    this.#reveal();
  }

  #reveal() {
    this.#form.scrollIntoView({ block: "nearest" });
  }

  #say() {
    const words = this.#field.value.trim();
    if (!words || characters(words) > WORDS_LIMIT) return;
    this.#asking = false;
    this.#want({ thumb: "down", words });
  }

  /** One request at a time, so that none overtakes another; of several presses meanwhile only the last is posted. */
  async #want(feedback: FeedbackView | null) {
    this.#pressed = true;
    this.#wanted = feedback;
    this.#tell("");
    this.#show();
    if (this.#posting) return;
    this.#posting = true;
    for (let posted: FeedbackView | null | undefined; posted !== this.#wanted; ) {
      posted = this.#wanted;
      try {
        await this.#post(posted);
        this.#kept = posted;
        if (posted?.words && posted === this.#wanted) this.#thank();
      } catch (error) {
        if (posted === this.#wanted) posted = this.#restore(posted, ChatError.from(error));
      }
    }
    this.#posting = false;
  }

  #thank() {
    this.#field.value = "";
    this.#tell(strings.feedback.thanks);
  }

  #restore(failed: FeedbackView | null, { message }: ChatError) {
    this.#wanted = this.#kept;
    this.#asking = Boolean(failed?.words);
    this.#tell(`${strings.shared.couldNotSave} ${message}`);
    this.#show();
    return this.#wanted;
  }

  #tell(sentence: string) {
    this.#note.textContent = sentence;
    this.#note.hidden = !sentence;
    if (sentence) this.#announce(sentence);
  }

  #key(event: KeyboardEvent) {
    if (!isEnter(event)) return;
    event.preventDefault();
    this.#say();
  }

  /** Escape closes the field only; it does not stop the turn that runs as well. */
  #escape(event: KeyboardEvent) {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    this.#asking = false;
    this.#show();
  }

  #show() {
    const thumb = this.#wanted?.thumb;
    this.#up.setAttribute("aria-pressed", String(thumb === "up"));
    this.#down.setAttribute("aria-pressed", String(thumb === "down"));
    const hadFocus = this.#form.matches(":focus-within");
    this.#form.hidden = !this.#asking || thumb !== "down";
    if (hadFocus && this.#form.hidden) this.#down.focus();
    const count = characters(this.#field.value.trim());
    this.#send.disabled = count === 0 || count > WORDS_LIMIT;
    this.#field.setAttribute("aria-invalid", String(count > WORDS_LIMIT));
    showCount(this.#counter, count, WORDS_LIMIT);
    grow(this.#field);
  }
}
