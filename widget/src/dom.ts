/** Elements, icons and helpers for text fields. */

import { strings } from "./strings.ts";

export const WORDS_LIMIT = 2_000; // maximum characters of a comment on an answer or a decision
const NEARLY_ALL = 0.95; // share of a limit above which the count is shown

type Attribute = string | boolean | ((event: any) => unknown);
export type Attributes = Record<string, Attribute>;

/** Creates an element. Attributes are strings or booleans; a function is a listener for the event of that name. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const ICONS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5",
  send: "M12 19V5.5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  check: "M5.5 12.5l4.5 4.5 9-10",
  alert: "M12 8v5M12 16.2v.3M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z",
  queue: "M4 13.5h4l1.5 3h5l1.5-3h4M4 13.5v5h16v-5M4 13.5l3-8h10l3 8",
  pause: "M8.5 6v12M15.5 6v12",
  play: "M8 5.5v13l10.5-6.5z",
  copy: "M9 9h10.5v10.5H9zM15 9V4.5H4.5V15H9",
  edit: "M5 19h3.5L19 8.5 15.5 5 5 15.5zM13.5 7l3.5 3.5",
  again: "M19 12a7 7 0 1 1-2.2-5.1M19 4v4.5h-4.5",
  attach: "M8.2 12.8l6-6a3 3 0 0 1 4.3 4.2l-7.7 7.7a5 5 0 0 1-7-7l7.1-7.2",
  raise: "M12 18V6M6.5 11.5L12 6l5.5 5.5",
  lower: "M12 6v12M6.5 12.5L12 18l5.5-5.5",
  latest: "M12 5v13M6 12.5l6 6 6-6",
  search: "M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15 15l5 5",
  info: "M12 11v5.2M12 7.5v.3M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z",
  up: "M3 10.5h4.5v9H3zM7.5 10.7l3.6-6.9c1.4 0 2.4 1 2.4 2.4v3.3h4.6a1.8 1.8 0 0 1 1.8 2.1l-1.1 6.3a1.9 1.9 0 0 1-1.9 1.6H7.5",
  down: "M3 13.5h4.5v-9H3zM7.5 13.3l3.6 6.9c1.4 0 2.4-1 2.4-2.4v-3.3h4.6a1.8 1.8 0 0 0 1.8-2.1l-1.1-6.3a1.9 1.9 0 0 0-1.9-1.6H7.5",
};

export type IconName = keyof typeof ICONS;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon", `icon-${name}`);
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A product's logo and name. */
export const brand = (name: string, logo: string): (Node | string)[] => [...(logo ? [element("img", { src: logo, alt: name ? "" : strings.shared.logo })] : []), name];

export const spinner = () => element("span", { class: "spinner", "aria-hidden": "true" });
export const spoken = (text: string) => element("span", { class: "spoken" }, text);

export const iconButton = (name: IconName, label: string, click: (event: MouseEvent) => unknown, attributes: Attributes = {}) =>
  element("button", { type: "button", class: "icon-button", "aria-label": label, title: label, click, ...attributes }, icon(name));

// keyCode 229: Safari ends a composition before the event of the key that ended it
export const isEnter = (event: KeyboardEvent) => event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;

export function grow(textarea: HTMLTextAreaElement) {
  textarea.style.height = "auto";
  const { scrollHeight } = textarea; // 0 while it is not rendered
  if (scrollHeight) textarea.style.height = `${scrollHeight}px`;
}

export function showCount(place: HTMLElement, count: number, limit: number) {
  place.textContent = count < limit * NEARLY_ALL ? "" : strings.shared.characters(count.toLocaleString(strings.locale), limit.toLocaleString(strings.locale));
  place.classList.toggle("over", count > limit);
}

export const characters = (text: string) => [...text].length;
