export const MEMORY_STYLES = new CSSStyleSheet();
MEMORY_STYLES.replaceSync(`
.remembered { margin: 0; color: var(--muted); font-size: var(--note); }
.remembered .words { border-radius: .3rem; }
.remembered .choice { white-space: pre; }
.remembered .problem { display: block; }
[aria-busy=true] > .choice .link { opacity: .55; }
@media (pointer: coarse) { .choice .link { min-inline-size: 44px; margin-block: -.6rem; } }
`);
