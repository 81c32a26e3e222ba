export const MEMORY_STYLES = new CSSStyleSheet();
MEMORY_STYLES.replaceSync(`
.remembered { margin: 0; color: var(--muted); font-size: var(--note); overflow-wrap: anywhere; }
.remembered .words { border-radius: .3rem; }
.remembered .choice { white-space: pre; }
.remembered .problem { display: block; }
.link-button { padding: 0 .2rem; margin-inline-start: -.2rem; color: var(--accent); text-decoration: underline; text-underline-offset: .2em; }
.link-button:hover { background: var(--raised); }
[aria-busy=true] > .choice .link-button { opacity: .55; }
@media (pointer: coarse) {
  .link-button { min-block-size: 44px; min-inline-size: 44px; margin-block: -.6rem; }
}
`);
