/** The list of conversations: open, find, rename and delete. */

import type { ConversationRow, Page } from "./api.ts";
import { type Backend, conversationPath } from "./backend.ts";
import { brand, element, icon, iconButton } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";
import { day } from "./time.ts";

const TYPING_MS = 250; // delay of a search after the last keystroke
const TITLE_LIMIT = 80;

interface Options {
  /** Throws while the chat is not on the page. */
  backend: () => Backend;
  pick: (id: string) => void;
  pickNew: () => void;
  /** Called when the list was closed as a drawer. */
  close: () => void;
  deleted: (id: string) => void;
  /** Called with the title of the open conversation whenever it is read. */
  titled: (title: string) => void;
}

export class ConversationList {
  readonly element: HTMLElement;
  readonly dialog: HTMLDialogElement;
  #options: Options;
  #current: string | null = null;
  #reading = 0;
  #next: string | null = null;
  #typing: ReturnType<typeof setTimeout> | undefined;
  #newButton: HTMLButtonElement;
  #brand = element("p", { class: "brand", hidden: true });
  #search = element("input", {
    type: "search",
    class: "field find",
    "aria-label": strings.conversations.search,
    placeholder: strings.conversations.search,
    maxlength: "200",
    autocomplete: "off",
    input: () => this.#searchSoon(),
    keydown: (event: KeyboardEvent) => this.#escapeSearch(event),
  });
  #rows = element("ul", { class: "rows" });
  #note = element("p", { class: "list-note", role: "status" });
  #more = element("button", { type: "button", class: "quiet", hidden: true, click: () => this.read(this.#next) }, strings.shared.showOlder);
  #question = element("p");

  constructor(options: Options) {
    this.#options = options;
    this.#newButton = element("button", { type: "button", class: "new", click: options.pickNew }, icon("plus"), strings.conversations.new);
    const close = iconButton("close", strings.conversations.close, options.close, { class: "icon-button drawer-only" });
    this.element = element(
      "nav",
      { "aria-label": strings.conversations.label },
      this.#brand,
      element("div", { class: "bar" }, this.#newButton, close),
      element("div", { class: "finding" }, icon("search"), this.#search),
      element("div", { class: "list" }, this.#rows, this.#note, this.#more),
    );
    this.dialog = this.#buildDialog();
  }

  focus() {
    this.#newButton.focus();
  }

  /** Shows a product's name and logo above the list; nothing if both are empty. */
  showBrand(name: string, logo: string) {
    this.#brand.replaceChildren(...brand(name, logo));
    this.#brand.hidden = !name && !logo;
  }

  /** Marks the conversation that is open. */
  show(id: string | null) {
    this.#current = id;
    for (const row of this.#rows.querySelectorAll<HTMLElement>("li")) {
      row.querySelector(".open")?.setAttribute("aria-current", String(row.dataset["id"] === id));
    }
  }

  async read(after?: string | null) {
    const reading = ++this.#reading; // show only the latest of several responses
    const words = this.#search.value.trim();
    try {
      const query = new URLSearchParams({ ...(words && { q: words }), ...(after && { after }) }).toString();
      const { items, next } = await this.#options.backend().json<Page<ConversationRow>>("GET", `/api/conversations${query && `?${query}`}`);
      if (reading !== this.#reading) return;
      this.#next = next;
      const rows = items.map((item) => this.#row(item));
      if (after) this.#rows.append(...rows);
      else this.#rows.replaceChildren(...rows);
      const open = items.find(({ id }) => id === this.#current);
      if (open?.title) this.#options.titled(open.title);
      this.#note.textContent = this.#rows.children.length ? "" : words ? strings.conversations.nothingFound(words) : strings.conversations.empty;
    } catch (error) {
      if (reading !== this.#reading) return;
      const again = element("button", { type: "button", class: "quiet", click: () => this.read() }, strings.shared.tryAgain);
      this.#note.replaceChildren(ChatError.from(error).message, again);
    }
    this.#more.hidden = !this.#next;
  }

  // ── finding ──

  #searchSoon() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.read(), TYPING_MS);
  }

  /** Escape clears the search; it does not stop a turn or close the drawer as well. */
  #escapeSearch(event: KeyboardEvent) {
    if (event.key !== "Escape" || !this.#search.value) return;
    event.preventDefault();
    event.stopPropagation();
    this.#search.value = "";
    this.read();
  }

  // ── a row ──

  #row({ id, title, updated_at: updated, running, found }: ConversationRow): HTMLElement {
    const name = title || strings.conversations.untitled;
    const snippet = found?.message_id ? [element("span", { class: "snippet" }, ...marked(found.snippet, found.words))] : [];
    const open = element(
      "button",
      { type: "button", class: "open", title: name, click: () => this.#options.pick(id), "aria-current": String(id === this.#current) },
      element("span", { class: "name" }, ...(found && !found.message_id ? marked(name, found.words) : [name])),
      ...snippet,
      element("span", { class: "when" }, running ? strings.conversations.working : day(updated)),
    );
    const row = element("li", { "data-id": id }, open);
    row.append(
      iconButton("edit", strings.conversations.renameOne(name), () => this.#rename(row, id, name)),
      iconButton("trash", strings.conversations.deleteOne(name), () => this.#confirmDelete(id, name)),
    );
    return row;
  }

  /** Shows a field in the row's place. Enter or leaving the field saves, Escape does not. */
  #rename(row: HTMLElement, id: string, name: string) {
    let over = false;
    const end = async (save: boolean) => {
      if (over) return;
      over = true;
      const title = field.value.trim();
      field.replaceWith(...parts);
      if (save && title && title !== name) await this.#retitle(id, title);
      row.querySelector<HTMLElement>(".open")?.focus();
    };
    const field = element("input", {
      class: "field rename",
      "aria-label": strings.conversations.title,
      maxlength: String(TITLE_LIMIT),
      value: name,
      blur: () => end(true),
      keydown: (event: KeyboardEvent) => {
        if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
        event.preventDefault();
        event.stopPropagation();
        end(event.key === "Enter");
      },
    });
    const parts = [...row.childNodes];
    row.replaceChildren(field);
    field.select();
    field.focus();
  }

  async #retitle(id: string, title: string) {
    try {
      await this.#options.backend().json("PATCH", conversationPath(id), { body: { title } });
    } catch (error) {
      this.#note.textContent = `${strings.conversations.couldNotRename} ${ChatError.from(error).message}`;
      return;
    }
    await this.read();
  }

  // ── deleting ──

  #buildDialog(): HTMLDialogElement {
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", { id: "question" }, strings.conversations.deleteQuestion),
      this.#question,
      element(
        "div",
        { class: "choices" },
        element("button", { class: "quiet", value: "", autofocus: true }, strings.shared.cancel),
        element("button", { class: "quiet danger", value: "delete" }, strings.conversations.delete),
      ),
    );
    return element("dialog", { "aria-labelledby": "question" }, form);
  }

  #confirmDelete(id: string, name: string) {
    const title = strings.shared.quoted(name);
    const [before = "", ...after] = strings.conversations.deleteEverything(title).split(title);
    this.#question.replaceChildren(before, element("span", { class: "name" }, title), after.join(title));
    this.dialog.returnValue = "";
    this.dialog.onclose = () => {
      if (this.dialog.returnValue === "delete") this.#delete(id);
    };
    this.dialog.showModal();
  }

  async #delete(id: string) {
    try {
      await this.#options.backend().json("DELETE", conversationPath(id));
    } catch (error) {
      const { code, message } = ChatError.from(error);
      if (code !== "not_found") {
        this.#note.textContent = `${strings.conversations.couldNotDelete} ${message}`;
        return;
      }
    }
    this.#options.deleted(id);
    await this.read();
    this.focus(); // the focused button was removed with its row
  }
}

/** A text with these words highlighted; they are spelled as in the text. */
function marked(text: string, words: string[]): (Node | string)[] {
  const nodes: (Node | string)[] = [];
  let from = 0;
  while (from < text.length) {
    const next = words.map((word) => ({ word, at: text.indexOf(word, from) })).filter(({ word, at }) => word && at >= 0);
    const first = next.sort((one, other) => one.at - other.at || other.word.length - one.word.length)[0];
    if (!first) break;
    nodes.push(text.slice(from, first.at), element("mark", {}, first.word));
    from = first.at + first.word.length;
  }
  nodes.push(text.slice(from));
  return nodes;
}
