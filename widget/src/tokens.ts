/** Colors, light and dark, fonts and sizes, for the elements, the local page, mails and approval pages. */

export const COLORS = {
  /** Below everything; a page that has a background of its own but names none for this has it here, too. */
  page: ["#f5f7f5", "#131716"],
  /** Of paper: cards, documents, fields and buttons. */
  background: ["#ffffff", "#1a201e"],
  /** Of sheets beside the page. */
  surface: ["#eef2ef", "#171d1b"],
  raised: ["#e9efec", "#26302d"],
  text: ["#18211e", "#e6ece9"],
  muted: ["#56645f", "#9db0a9"],
  line: ["#dde4e0", "#2c3633"],
  edge: ["#85938d", "#64746e"],
  accent: ["#0d6a59", "#63cfb6"],
  "on-accent": ["#ffffff", "#06231c"],
  danger: ["#a8322a", "#f29a90"],
  "on-danger": ["#ffffff", "#2b0906"],
  warn: ["#fdf3dc", "#33290f"],
} as const;

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** Besides 1rem, which is what is read. */
export const SIZES = { small: ".8rem", note: ".9rem", lead: "1.1rem", heading: "1.5rem" } as const;

/** The column of each view. */
export const COLUMN = "52rem";

/** CSS custom properties of an element. A page can override each by `--qwestly-…`. */
export const TOKENS = [
  "color-scheme: light dark;",
  `--column: var(--qwestly-column, ${COLUMN});`,
  ...Object.entries(SIZES).map(([name, size]) => `--${name}: var(--qwestly-${name}, ${size});`),
  ...Object.entries(COLORS).map(([name, [light, dark]]) => `--${name}: var(--qwestly-${name}, ${name === "page" ? "var(--qwestly-background, " : ""}light-dark(${light}, ${dark}))${name === "page" ? ")" : ""};`),
].join("\n  ");

/** For people who ask their system for more contrast. */
export const MORE_CONTRAST = "--muted: var(--text); --line: var(--edge);";
