/** Colors and fonts, light and dark, for the elements, the local page, mails and approval pages. */

export const COLORS = {
  background: ["#ffffff", "#131716"],
  surface: ["#f5f7f5", "#1a201e"],
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

/** CSS custom properties of an element. A page can override each by `--qwestly-…`. */
export const TOKENS = [
  "color-scheme: light dark;",
  ...Object.entries(COLORS).map(([name, [light, dark]]) => `--${name}: var(--qwestly-${name}, light-dark(${light}, ${dark}));`),
].join("\n  ");
