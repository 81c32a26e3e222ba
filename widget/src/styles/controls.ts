/** Styles of text boxes and marks in the chat and the list of approvals. */

export const CONTROL_STYLES = new CSSStyleSheet();
CONTROL_STYLES.replaceSync(`
button { border: 0; border-radius: .6rem; background: none; }
.icon { inline-size: 1.25rem; block-size: 1.25rem; }
.icon-stop { fill: currentColor; }
.spinner { flex: none; inline-size: .95rem; block-size: .95rem; border: 2px solid var(--line); border-block-start-color: var(--accent); border-radius: 50%; animation: turn 900ms linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
.problem { color: var(--muted); }
.problem.failed { color: var(--danger); }
.box { display: flex; align-items: flex-end; gap: .5rem; padding: .4rem .4rem .4rem 1.1rem; border: 1px solid var(--edge); border-radius: 1.5rem; background: var(--background); cursor: text; }
.box:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.box textarea { flex: 1; min-inline-size: 0; max-block-size: 12rem; margin-block: .4rem; padding: 0; border: 0; outline: 0; background: none; resize: none; line-height: 1.5rem; }
.counter { min-block-size: 1.2rem; text-align: end; }
.counter:empty { display: none; }
.told { padding-block-start: .25rem; text-align: center; }
.counter, .told, .when { font-size: var(--small); color: var(--muted); }
.counter.over { color: var(--danger); font-weight: 600; }
.choices { display: flex; justify-content: flex-end; gap: .5rem; margin-block-start: .5rem; }
@media (prefers-reduced-motion: reduce) {
  .spinner { animation: none; }
}
`);
