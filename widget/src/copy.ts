import { icon, iconButton } from "./dom.ts";
import { strings } from "./strings.ts";

const CONFIRMED_MS = 2_000;

/** A button that copies a text, and confirms it for a moment. */
export function copyButton(label: string, text: () => string, className = "icon-button"): HTMLButtonElement {
  const button = iconButton("copy", label, async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      return show("alert", strings.copy.couldNotCopy);
    }
    show("check", strings.copy.copied);
    setTimeout(() => show("copy", label), CONFIRMED_MS);
  }, { class: className });
  const show = (name: "copy" | "check" | "alert", words: string) => {
    button.replaceChildren(icon(name));
    button.title = words;
    button.setAttribute("aria-label", words);
  };
  return button;
}
