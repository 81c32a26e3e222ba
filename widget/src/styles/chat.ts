/** Styles of the chat.
 *
 * A constructed style sheet, because a strict content security policy forbids style elements. A page sets `color-scheme` on the
 * element to choose light or dark, and --qwestly-… to choose colors and fonts.
 */

/** Below this width the conversation list is a drawer. */
export const NARROW_PX = 760;
/** Up to this width a question opens as a sheet. */
export const PHONE_PX = 480;

export const STYLES = new CSSStyleSheet();
STYLES.replaceSync(`
:host { block-size: 100%; min-block-size: 20rem; }

.chat { position: relative; display: grid; grid-template-columns: 17rem minmax(0, 1fr); block-size: 100%; min-block-size: inherit; overflow: hidden; }
.skip { position: absolute; inset: .6rem auto auto .6rem; z-index: 2; padding: .5rem 1rem; background: var(--accent); color: var(--on-accent); }
.skip:not(:focus) { inline-size: 1px; block-size: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
.bar { display: flex; align-items: center; gap: .5rem; min-block-size: 3.75rem; padding: .5rem 1rem; }
.drawer-only { display: none; }

nav { display: flex; flex-direction: column; min-block-size: 0; background: var(--surface); border-inline-end: 1px solid var(--line); }
button.new { flex: 1; display: flex; align-items: center; gap: .5rem; padding: .5rem .75rem; border: 1px solid var(--line); background: var(--background); font-weight: 550; }
button.new:hover { border-color: var(--accent); color: var(--accent); }
.finding { position: relative; padding: 0 1rem .5rem; }
.finding .icon { position: absolute; inset: .55rem auto auto 1.7rem; inline-size: 1rem; block-size: 1rem; color: var(--muted); pointer-events: none; }
.find, .rename { padding-block: .35rem; font-size: var(--note); }
.find { padding-inline-start: 2.1rem; border-color: var(--line); }
.rename { margin: .35rem; }
.snippet, .open .name { overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.snippet, .open .when { color: var(--muted); font-size: var(--small); }
.list { overflow-y: auto; flex: 1; padding: .25rem .5rem 1rem; }
.list > .quiet { margin: .5rem; }
.rows { list-style: none; padding: 0; display: grid; gap: 2px; }
.rows li { display: flex; align-items: center; border-radius: .6rem; }
.rows li:hover, .rows li:has(.open[aria-current=true]) { background: var(--raised); }
.open { flex: 1; min-inline-size: 0; display: grid; padding: .5rem .5rem .5rem .75rem; text-align: start; }
.open[aria-current=true] .name { font-weight: 600; }
.open .name { font-size: var(--note); }
.rows .icon-button { inline-size: 1.85rem; block-size: 2rem; }
.rows .icon-button:last-child { margin-inline-end: .35rem; }
.rows .icon-button .icon { inline-size: 1.1rem; }
.rows .icon-button:last-child:hover { color: var(--danger); }
.rows .icon-button:focus-visible, .open:focus-visible { outline-offset: -2px; }
@media (hover: hover) {
  .rows .icon-button { opacity: 0; }
  .rows li:is(:hover, :focus-within) .icon-button { opacity: 1; }
}
.list-note { display: grid; gap: .5rem; justify-items: start; padding: .5rem .75rem; color: var(--muted); font-size: var(--note); }
.list-note:empty { display: none; }

.main { display: flex; flex-direction: column; min-inline-size: 0; min-block-size: 0; }
.title { border-block-end: 1px solid var(--line); padding-inline: 1.5rem; }
.title h2 { flex: 1; min-inline-size: 0; font-size: 1rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.log-box { position: relative; container-type: size; flex: 1; min-block-size: 0; display: flex; flex-direction: column; }
.latest { position: absolute; inset-block-end: .6rem; inset-inline-end: max(1.5rem, calc(50% - 22.5rem)); border: 1px solid var(--line); border-radius: 50%; background: var(--background); box-shadow: 0 2px 10px rgb(0 0 0 / .15); }
.log { flex: 1; min-block-size: 0; overflow-y: auto; overflow-x: hidden; overscroll-behavior: contain; padding: 1.5rem 1.5rem 0; display: flex; flex-direction: column; gap: 1.5rem; }
/* Sticky nodes keep off the padding of what scrolls. */
.log > :last-child { padding-block-end: 1.5rem; }
.log:focus-visible { outline-offset: -2px; }
.log > * { inline-size: 100%; max-inline-size: 46rem; margin-inline: auto; flex: none; }
.empty { margin-block: auto; display: grid; gap: .5rem; justify-items: center; text-align: center; }
.empty h3 { color: var(--text); font-size: var(--heading); }
.empty > * { text-wrap: balance; }
.suggestions { display: flex; flex-wrap: wrap; justify-content: center; gap: .5rem; margin-block-start: 1rem; }
.suggestions.next { justify-content: flex-start; margin-block: .25rem 1rem; }
.suggestions slot { display: contents; }
.suggestions button, ::slotted(button) { font: inherit; font-size: var(--note); cursor: pointer; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--background); color: var(--text); }
.suggestions button:hover, ::slotted(button:hover) { border-color: var(--accent); color: var(--accent); }
::slotted(button:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }

.turn { display: grid; gap: 1rem; }
.said-row { display: flex; justify-content: flex-end; align-items: center; gap: .25rem; }
.said-row .icon { inline-size: 1.05rem; }
.editing { flex: 1; max-inline-size: 36rem; }
.said { max-inline-size: min(85%, 36rem); padding: .6rem 1rem; border-radius: 1.1rem 1.1rem .3rem 1.1rem; background: var(--raised); white-space: pre-wrap; }
.answer { display: grid; gap: .75rem; min-inline-size: 0; }
.steps, .working { color: var(--muted); font-size: var(--note); }
.steps summary:hover { color: var(--text); }
.steps ul { list-style: none; display: grid; gap: .25rem; margin-block-start: .35rem; padding: .1rem 0 .1rem .85rem; border-inline-start: 2px solid var(--line); }
.steps li { display: grid; grid-template-columns: 1.1rem fit-content(100%) 1fr; column-gap: .5rem; }
.steps .time { font-size: var(--small); line-height: 1.75; white-space: nowrap; font-variant-numeric: tabular-nums; }
.steps .why { grid-column: 2 / -1; }
.sources { display: flex; flex-wrap: wrap; align-items: flex-start; gap: .5rem; font-size: var(--note); }
.source { max-inline-size: 100%; border: 1px solid var(--line); border-radius: .9rem; color: var(--muted); }
.source[open] { flex-basis: 100%; padding-block-end: .5rem; color: var(--text); }
.source summary { max-inline-size: 32ch; padding: .15rem .7rem; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.source[open] summary { max-inline-size: none; white-space: normal; font-weight: 600; }
.source summary:hover { color: var(--text); }
.source p { padding-inline: .7rem; }
.source .where { color: var(--muted); font-size: var(--small); }
.working { display: flex; align-items: center; gap: .5rem; }
.mark { display: grid; place-items: center; inline-size: 1.1rem; block-size: 1.55em; }
.mark .icon-close { color: var(--danger); }
.footer { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; font-size: var(--note); }
.footer:not(:has(> :not([hidden]))), .content:empty { display: none; }
.feedback { display: contents; }
.thumbs { display: flex; margin: -.4rem -.375rem; }
.thumb { inline-size: 2rem; block-size: 2rem; }
.thumb[aria-pressed=true] { color: var(--accent); }
.thumb[aria-pressed=true] .icon { fill: currentColor; }
.thumb:focus-visible { outline-offset: -2px; }
.wrong { flex-basis: 100%; max-inline-size: 34rem; scroll-margin-block: 1rem; }
.wrong .box { padding: .15rem .25rem .15rem .9rem; border-radius: 1.2rem; }
.wrong textarea { margin-block: .3rem; }
.wrong .quiet { border-color: transparent; color: var(--accent); }
@media (hover: hover) {
  .turn:not(:last-child, :hover, :focus-within) .thumb:not([aria-pressed=true]) { opacity: 0; }
  .turn:not(:hover, :focus-within) .said-row .thumb { opacity: 0; }
}
@media (pointer: coarse) {
  .thumbs { margin: -.75rem; }
  .thumb { inline-size: 44px; block-size: 44px; }
  .wrong textarea { margin-block: .6rem; font-size: 1rem; /* Safari zooms in on less */ }
}

.content { display: grid; gap: .75rem; min-inline-size: 0; }
.content > * { margin: 0; min-inline-size: 0; }
.content :is(h5, h6) { font-size: 1rem; }
.content h3 { font-size: var(--heading); }
.content h4 { font-size: var(--lead); }
.content :is(h3, h4, h5, h6):not(:first-child) { margin-block-start: .35rem; }
.content p, .content li { white-space: pre-line; }
.content :is(ul, ol) { list-style: revert; padding-inline-start: 1.5rem; margin: 0; }
.content li + li, .content li > :is(ul, ol) { margin-block-start: .3rem; }
.content li::marker { color: var(--muted); }
.content code { font: .9em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; padding: .1em .35em; border-radius: .35em; background: var(--raised); }
.content .code { border: 1px solid var(--line); border-radius: .6rem; background: var(--surface); overflow: hidden; }
.content .code-bar { display: flex; align-items: center; justify-content: space-between; padding: .1rem .3rem .1rem 1rem; border-block-end: 1px solid var(--line); color: var(--muted); font-size: var(--small); }
.content .code-bar .icon-button { inline-size: 2rem; block-size: 2rem; }
.content .code-bar .icon { inline-size: 1.05rem; }
.content blockquote { margin: 0; border-color: var(--line); font-size: inherit; }
.content blockquote > * { margin: 0; }
.content hr { inline-size: 100%; border: 0; border-block-start: 1px solid var(--line); }
.content .scrolled { overflow-x: auto; }
.content table { border-collapse: collapse; font-size: var(--note); }
.content :is(th, td) { overflow-wrap: break-word; padding: .4rem .75rem; border-block-end: 1px solid var(--line); text-align: start; vertical-align: top; }
.content th { font-weight: 600; white-space: nowrap; }
.content li:has(> input) { list-style: none; margin-inline-start: -1.4rem; }
.content input { margin-inline-end: .5rem; accent-color: var(--accent); }
.content pre { margin: 0; overflow-x: auto; padding: .85rem 1rem; }
.content pre code { padding: 0; background: none; overflow-wrap: normal; }
/* A block is laid out by itself: so only the last lines of code are, and, while an answer grows, the last words of an endless paragraph. */
.content pre span, .answer[aria-busy="true"] .content p > span { display: block; }

.composer { padding: .25rem 1.5rem 1rem; }
.composer > * { max-inline-size: 46rem; margin-inline: auto; }
.notice, .news { display: flex; align-items: center; gap: .5rem; margin-block-end: .6rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--surface); font-size: var(--note); }
:is(.notice, .news) span:not(.spinner) { flex: 1; }
.box .attach { order: -1; }
.main[data-drop] { outline: 2px dashed var(--accent); outline-offset: -.5rem; }
.notice .icon { color: var(--danger); }
.send { display: grid; place-items: center; flex: none; inline-size: 2.35rem; block-size: 2.35rem; padding: 0; border-radius: 50%; background: var(--accent); color: var(--on-accent); }
.send:hover:enabled { filter: brightness(1.1); }
.send:disabled { background: var(--raised); color: var(--muted); }
.send.stopping { opacity: .6; }

dialog h2 { font-size: var(--lead); }
dialog form p { color: var(--muted); }
dialog .name { color: var(--text); }

:host([agent-role]) .chat { grid-template-columns: minmax(0, 1fr); }
:host([agent-role]) :is(nav, .drawer-only) { display: none; }

@container (max-width: ${NARROW_PX - 0.02}px) {
  .chat { grid-template-columns: minmax(0, 1fr); }
  .drawer-only { display: grid; }
  nav { display: none; position: absolute; inset: 0 auto 0 0; z-index: 1; inline-size: min(20rem, 88%); box-shadow: 0 0 0 100vmax rgb(8 14 12 / .45); }
  [data-drawer] nav { display: flex; }
  .bar { min-block-size: 3rem; padding-block: .2rem; }
  .title { padding-inline: .6rem; }
  .title h2 { text-align: center; }
  .log { padding: 1.1rem 1rem 0; }
  .composer { padding: .25rem .75rem .75rem; }
}
`);
