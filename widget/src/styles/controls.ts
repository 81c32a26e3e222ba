/** Styles of buttons, fields and marks in the chat and the list of approvals. */

export const CONTROL_STYLES = new CSSStyleSheet();
CONTROL_STYLES.replaceSync(`
button, textarea { font: inherit; color: inherit; }
button { cursor: pointer; border: 0; background: none; border-radius: .6rem; }
button:disabled { cursor: default; }
.spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { inline-size: 1.25rem; block-size: 1.25rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.icon-stop { fill: currentColor; }
.icon-button { display: grid; place-items: center; flex: none; inline-size: 2.5rem; block-size: 2.5rem; padding: 0; color: var(--muted); }
.icon-button:hover { background: var(--raised); color: var(--text); }
.quiet-button { padding: .3rem .9rem; border: 1px solid var(--line); background: var(--background); font-size: var(--note); }
.quiet-button:hover { background: var(--raised); }
.answering > .choices > .quiet-button:first-child, .box .main { border-color: transparent; background: var(--accent); color: var(--on-accent); font-weight: 600; }
.danger-button { padding: .3rem .9rem; border: 1px solid transparent; background: var(--danger); color: var(--on-danger); font-size: var(--note); }
.danger-button:hover { filter: brightness(1.1); }
.spinner { flex: none; inline-size: .95rem; block-size: .95rem; border: 2px solid var(--line); border-block-start-color: var(--accent); border-radius: 50%; animation: turn 900ms linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
.problem { color: var(--muted); }
.problem.failed { color: var(--danger); }
.box { display: flex; align-items: flex-end; gap: .5rem; padding: .4rem .4rem .4rem 1.1rem; border: 1px solid var(--edge); border-radius: 1.5rem; background: var(--background); cursor: text; }
.box:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
textarea { flex: 1; min-inline-size: 0; max-block-size: 12rem; margin-block: .4rem; padding: 0; border: 0; outline: 0; background: none; resize: none; line-height: 1.5rem; }
textarea:focus-visible { outline: 0; }
textarea::placeholder { color: var(--muted); opacity: 1; }
.counter { min-block-size: 1.2rem; padding-block-start: .15rem; text-align: end; font-size: var(--small); color: var(--muted); }
.counter:empty { display: none; }
.told { padding-block-start: .25rem; text-align: center; font-size: var(--small); color: var(--muted); }
.when { font-size: var(--small); color: var(--muted); }
.counter.over { color: var(--danger); font-weight: 600; }
.choices { display: flex; justify-content: flex-end; gap: .5rem; margin-block-start: .5rem; }
@media (prefers-reduced-motion: reduce) {
  .spinner { animation: none; }
}
`);
