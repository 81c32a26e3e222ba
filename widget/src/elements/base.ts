/** Base class of the elements other than the chat: attributes, token, requests, and error messages. */

import { LitElement, css, unsafeCSS } from "lit";

import { Backend, Tokens, fetchToken } from "../backend.ts";
import { brand, element } from "../dom.ts";
import { ChatError } from "../errors.ts";
import { STRINGS_CHANGES, strings } from "../strings.ts";
import { FONT, MORE_CONTRAST, TOKENS } from "../tokens.ts";

export type GetToken = () => Promise<string>;

/** Has the same attributes as `<qwestly-chat>` (`endpoint`, `token-url`, `brand-…`) and the property `getToken`. */
export abstract class AgentElement extends LitElement {
  static override properties = { endpoint: {}, tokenUrl: { attribute: "token-url" }, getToken: { attribute: false }, problem: { state: true } };

  declare endpoint: string;
  declare tokenUrl: string | null;
  declare getToken: GetToken | null;
  /** The error message of the last request; empty if it succeeded. */
  declare problem: string;
  #backend: Backend | null = null;
  #couldNotLoad = false;
  /** Number of calls of `choose`. Responses to requests from before the newest choice are ignored. */
  protected choices = 0;

  constructor() {
    super();
    this.endpoint = "";
    this.tokenUrl = null;
    this.getToken = null;
    this.problem = "";
  }

  protected get backend(): Backend {
    this.#backend ??= new Backend(this.endpoint, new Tokens(() => (this.getToken ? this.getToken() : fetchToken(this.tokenUrl ?? ""))));
    return this.#backend;
  }

  override connectedCallback() {
    super.connectedCallback();
    STRINGS_CHANGES.addEventListener("change", this.#showStrings);
    this.#showStrings();
    if (this.getToken || this.tokenUrl !== null) this.refresh();
  }

  /** Shows the current strings, some of which the page may have replaced. */
  #showStrings = () => {
    this.#showBrand();
    this.requestUpdate();
  };

  /** Shows the brand above the element's content. */
  #showBrand() {
    const [name, logo, color] = ["brand-name", "brand-logo", "brand-color"].map((each) => this.getAttribute(each));
    if (color) this.style.setProperty("--qwestly-accent", color);
    this.renderRoot.querySelector(":scope > .brand")?.remove();
    if (name || logo) this.renderRoot.prepend(element("p", { class: "brand" }, ...brand(name ?? "", logo ?? "")));
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    STRINGS_CHANGES.removeEventListener("change", this.#showStrings);
    this.#backend = null;
  }

  /** Reloads the element's content. */
  abstract refresh(): Promise<void>;

  /** Runs a user's action. If it fails, `problem` names the action and the reason. */
  protected async attempt(what: string, action: () => Promise<void>): Promise<void> {
    this.problem = "";
    this.#couldNotLoad = false;
    try {
      await action();
    } catch (error) {
      this.problem = `${what} ${ChatError.from(error).message}`;
    }
  }

  /** Shows a choice at once, then the value that the server stored. If storing fails, restores the previous value and sets `problem`. */
  protected async choose<T>(before: T, what: Partial<T>, show: (value: T) => void, save: () => Promise<T>): Promise<void> {
    const choice = ++this.choices;
    let kept = before;
    show({ ...before, ...what });
    await this.attempt(strings.shared.couldNotSave, async () => { kept = await save(); });
    if (choice === this.choices) show(kept);
  }

  /** Loads the element's content. Its error message is cleared by the next successful load, an action's is kept. */
  protected async load(what: string, read: () => Promise<void>): Promise<void> {
    try {
      await read();
      if (this.#couldNotLoad) this.problem = "";
      this.#couldNotLoad = false;
    } catch (error) {
      this.problem = `${what} ${ChatError.from(error).message}`;
      this.#couldNotLoad = true;
    }
  }
}

export const BASE_STYLES = css`
  :host { ${unsafeCSS(TOKENS)} display: block; container-type: inline-size; color: var(--text); background: var(--page); font: 1rem/1.5 var(--qwestly-font, ${unsafeCSS(FONT)}); text-align: start; overflow-wrap: anywhere; }
  :host([hidden]), [hidden] { display: none !important; }
  *, *::before, *::after { box-sizing: border-box; }
  h2, h3, h4, h5, p, ul, fieldset { margin: 0; padding: 0; border: 0; }
  h2 { font-size: var(--heading); line-height: 1.25; letter-spacing: -.01em; }
  h3 { font-size: var(--lead); line-height: 1.3; }
  h4, h5 { font-size: var(--note); }
  :is(h2, h3):focus { outline: none; }
  ul { list-style: none; }
  a { color: var(--accent); text-underline-offset: .2em; }
  button, input, select, textarea { font: inherit; color: inherit; }
  button, summary { cursor: pointer; }
  button:disabled { opacity: .55; cursor: default; }
  summary { inline-size: fit-content; }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
  input:is([type=checkbox], [type=radio]) { flex: none; inline-size: 1.2rem; block-size: 1.2rem; margin: 0; accent-color: var(--accent); }
  mark { background: color-mix(in srgb, var(--accent) 18%, transparent); color: inherit; }
  u, .marked { padding: 0; border: 0; background: none; text-align: inherit; text-decoration: underline wavy var(--warning, #b97f12) 1.5px; text-underline-offset: .2em; }
  blockquote { margin: .3rem 0; padding-inline-start: .7rem; border-inline-start: 2px solid var(--accent); color: var(--muted); font-size: var(--note); }
  cite { font-style: normal; color: var(--muted); font-size: var(--note); }
  cite::before { content: "— "; }
  .spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .icon { inline-size: 1.1rem; block-size: 1.1rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
  .icon-button { display: grid; place-items: center; flex: none; inline-size: 2.5rem; block-size: 2.5rem; padding: 0; border: 0; border-radius: .6rem; background: none; color: var(--muted); }
  .icon-button:hover { background: var(--raised); color: var(--text); }
  .brand { display: flex; align-items: center; gap: .5rem; padding: 1rem 1rem 0; color: var(--accent); font-weight: 700; }
  .brand img { max-block-size: 1.75rem; max-inline-size: 10rem; }
  .page { inline-size: 100%; max-inline-size: var(--column); margin-inline: auto; padding: 1.5rem; display: grid; gap: 1.5rem; }
  .head, .tools { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
  .head h2 { flex: 1 0 max-content; }
  .head > :is(h3, p.soft) { flex: 1 1 12rem; }
  .row.head { justify-content: space-between; }
  .soft, .problem { color: var(--muted); font-size: var(--note); }
  .problem { color: var(--danger); }
  .quiet, .main-button { flex: none; white-space: nowrap; padding: .3rem .85rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--background); font-size: var(--note); }
  .quiet:hover:enabled { background: var(--raised); }
  .quiet[aria-pressed=true] { border-color: var(--accent); color: var(--accent); }
  .quiet.danger { border-color: var(--danger); color: var(--danger); }
  .main-button { border-color: transparent; background: var(--accent); color: var(--on-accent); font-weight: 600; }
  .link { padding: 0; border: 0; background: none; color: var(--accent); font-size: var(--note); text-decoration: underline; text-underline-offset: .2em; }
  nav.tools { gap: 1rem; }
  nav.tools .quiet { padding-inline: .25rem; border-width: 0 0 2px; border-color: transparent; border-radius: 0; background: none; color: var(--muted); }
  nav.tools .quiet[aria-current] { border-color: var(--accent); color: var(--text); }
  [role=group] > .quiet[aria-pressed] { border-radius: 2rem; color: var(--muted); }
  [role=group] > .quiet[aria-pressed=true] { background: var(--raised); border-color: transparent; color: var(--text); }
  .badge { display: inline-block; flex: none; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--muted); font-size: var(--small); white-space: nowrap; }
  .badge:is(.active, .learned, .strong) { border-color: var(--accent); color: var(--accent); }
  .lines { display: grid; }
  .lines > li { padding-block: .75rem; border-block-start: 1px solid var(--line); }
  .lines > li:first-child { border: 0; }
  .row { padding: .85rem 1rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--background); }
  .field { inline-size: 100%; padding: .45rem .8rem; border: 1px solid var(--edge); border-radius: .6rem; background: var(--background); }
  ::placeholder { color: var(--muted); opacity: 1; }
  [role=status]:empty { position: absolute; }
  .empty { padding: 2.5rem 1rem; text-align: center; color: var(--muted); }
  dialog { max-inline-size: min(28rem, calc(100vw - 2rem)); padding: 1.5rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--background); color: var(--text); }
  dialog::backdrop { background: rgb(8 14 12 / .45); }
  dialog form { display: grid; gap: 1rem; }
  @media (prefers-contrast: more) { :host { ${unsafeCSS(MORE_CONTRAST)} } }
  @media (pointer: coarse) { .quiet, .link, .main-button, summary, select { min-block-size: 44px; } summary { align-content: center; } }
  @container (max-width: 600px) { .page { padding: 1rem; } nav.tools { flex-wrap: nowrap; overflow-x: auto; } }
`;
