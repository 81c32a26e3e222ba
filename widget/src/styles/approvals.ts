/** Styles of approvals. */

import { PHONE_PX } from "./chat.ts";

export const APPROVAL_STYLES = new CSSStyleSheet();
APPROVAL_STYLES.replaceSync(`
.asides { display: grid; gap: .75rem; min-inline-size: 0; }
.asides:empty { display: none; }
.card { position: relative; /* of the hidden words in it, which else make the page longer */ display: grid; gap: .75rem; min-inline-size: 0; padding: 1rem 1.1rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--background); scroll-margin-block: 1rem; }
.question { display: grid; gap: .75rem; border-radius: .3rem; }
.card > *, .question > *, .card details > * { min-inline-size: 0; margin: 0; }
.folded h3 { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
.effect, .time, .rationale, .said-why { color: var(--muted); font-size: var(--note); }
.card .effect { margin-block-end: -.6rem; }
.card summary { padding: .1rem .4rem; margin-inline-start: -.4rem; border-radius: .3rem; color: var(--muted); font-size: var(--note); }
.card summary:hover { color: var(--text); }
.card details[data-pending=true] > summary { display: none; }
.log .card[data-asks], .sheet .card { display: flex; flex-direction: column; max-block-size: max(24rem, 100cqb - 2rem); }
.card > .quiet { justify-self: start; align-self: start; }
.card > .review { display: none; }
.card[data-asks] > * { flex: none; }
:is(.log, .sheet) .card[data-asks] > .question { flex-shrink: 1; min-block-size: 0; margin-inline: -.4rem; padding-inline: .4rem; overflow: hidden auto; }
:is(.log, .sheet) .card[data-asks] > .answering:has(> .edits:not([hidden])) { display: flex; flex-direction: column; flex-shrink: 1; min-block-size: 8rem; }
:is(.log, .sheet) .card[data-asks] .edits { min-block-size: 0; overflow-y: auto; }
.asked { display: grid; gap: .75rem; }
.asked ul { list-style: disc; margin: 0; padding-inline-start: 1.2rem; }
.asked ul ul { color: var(--muted); font-size: var(--note); }
.asked li::marker { color: var(--muted); }
.asked li + li { margin-block-start: .3rem; }
.asked p, .asked li, .asked dd { white-space: pre-line; }
.asked .difference { list-style: none; padding: .5rem .8rem; border-inline-start: 3px solid var(--accent); background: var(--raised); border-radius: .3rem; }
.card dl { display: grid; gap: .5rem; margin: 0; }
.change { display: grid; gap: .25rem; }
.change dt, .edits label > span { font-size: var(--note); font-weight: 600; color: var(--muted); }
.change dd { margin: 0; padding: .3rem .7rem; border-inline-start: 3px solid var(--line); }
.change .before { color: var(--muted); }
.change .after { border-color: var(--accent); }
.change ins { text-decoration: none; }
.change .from { padding: 0; border: 0; background: none; }
.change mark.gone { background: color-mix(in srgb, var(--danger) 18%, transparent); }
.career { display: grid; gap: 1rem; padding: 1.1rem 1.2rem; border: 1px solid var(--line); border-radius: .9rem; }
.career header { padding-block-end: .8rem; border-block-end: 1px solid var(--line); }
.career .person { font-size: var(--heading); font-weight: 700; line-height: 1.25; }
.career .headline { font-size: var(--lead); }
.career .person + .headline { color: var(--muted); }
.card .career h4 { font-size: var(--small); font-weight: 700; letter-spacing: .06em; text-transform: uppercase; color: var(--accent); }
.asked .career ul { list-style: none; padding: 0; color: inherit; font-size: inherit; }
.career :is(.experience, .education) { border-inline-start: 2px solid var(--line); margin-inline-start: .3rem; }
.asked .career :is(.experience, .education) { padding-inline-start: 1rem; }
.career :is(.experience, .education) > li { position: relative; margin-block: .5rem; }
.career :is(.experience, .education) > li::before { content: ""; position: absolute; inset: .5em auto auto calc(-1rem - 6px); inline-size: 10px; block-size: 10px; border-radius: 50%; background: var(--accent); box-shadow: 0 0 0 3px var(--background); }
.career :is(.skills, .preferences) { display: flex; flex-wrap: wrap; gap: .5rem; }
.career :is(.skills, .preferences) > li { margin: 0; padding: .2rem .7rem; border-radius: 1rem; background: var(--raised); }
.asked .career .details { list-style: disc; margin-block: .25rem .75rem; padding-inline-start: 1.1rem; font-weight: 400; }
.career .experience > li:has(> .details) { font-weight: 600; }
.evidence-mark { min-inline-size: 1.5rem; padding: 0 .35rem; border-radius: .6rem; background: var(--raised); color: var(--accent); font-size: var(--small); font-weight: 700; line-height: 1.5rem; vertical-align: .1em; }
.skills .evidence-mark, .preferences .evidence-mark { background: var(--background); }
.evidence-mark[aria-expanded=true], .evidence-mark:hover { background: var(--accent); color: var(--on-accent); }
.asked .career .evidence { display: grid; gap: .25rem; margin-block: .4rem; padding: .6rem .8rem; border-radius: .6rem; background: var(--surface); font-size: var(--note); }
.section { display: grid; gap: .25rem; }
.asked .memories { list-style: none; padding: 0; }
.memories del { text-decoration: line-through 1px color-mix(in srgb, var(--danger) 60%, transparent); }
.memories .type { color: var(--muted); font-size: var(--small); }
.evidence .why { color: var(--text); font-weight: 600; }
.folded > summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; inline-size: 100%; padding: .5rem .25rem; }
.folded > summary::before { content: "▸"; color: var(--accent); }
.folded[open] > summary::before { content: "▾"; }
.folded[open] > summary > :is(.rest, .values) { display: none; }
.folded > summary > :is(.rest, .values) { color: var(--muted); font-size: var(--note); }
.values:empty { display: none; }
.answering { display: grid; gap: .5rem; }
.answering .box { padding: .1rem .9rem; border-radius: 1.1rem; }
.answering .box textarea { margin-block: .3rem; font-size: var(--note); }
.answering .choices { justify-content: flex-start; flex-wrap: wrap; margin: 0; }
.log .answering .choices { padding-inline-end: 3rem; /* where the button "Jump to the latest message" is */ }
.answering button { min-block-size: 2.25rem; }
.answering .quiet { border-color: var(--edge); }
.options { display: grid; gap: .5rem; }
.options label { display: flex; gap: .5rem; align-items: start; overflow-wrap: anywhere; }
.options input { margin-block-start: .1em; }
.edits { display: grid; gap: .5rem; }
.edits label { display: grid; gap: .25rem; }
.edits .several { display: grid; gap: .25rem; margin-block-end: .6rem; }
.edits .several label { display: flex; justify-content: space-between; align-items: center; }
.edits label > span::first-letter { text-transform: uppercase; }
.edits textarea { resize: none; }
.outcome, .draft, .paused { display: flex; align-items: center; gap: .5rem; }
.outcome { font-weight: 600; font-size: var(--note); border-radius: .3rem; }
.icon-check { color: var(--accent); }
.icon-alert { color: var(--danger); }
.card > a { justify-self: start; font-size: var(--note); }
.said-why { white-space: pre-line; }
.draft { flex-wrap: wrap; color: var(--muted); font-size: var(--note); }
.stages { flex-basis: 100%; display: flex; gap: .25rem; margin: 0; padding: 0; list-style: none; font-size: var(--small); }
.stages li { flex: 1; padding-block-start: .35rem; border-block-start: 3px solid var(--line); }
.stages li:is(.past, [aria-current]) { border-color: var(--accent); }
.stages li[aria-current] { color: var(--text); font-weight: 600; }
.draft.failed { color: var(--text); }
.draft span, .outcome span { min-inline-size: 0; }
.paused { margin-block-end: .6rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--raised); font-size: var(--note); }
.brake, .waiting { display: flex; align-items: center; gap: .5rem; flex: none; min-inline-size: 2.5rem; min-block-size: 2.5rem; padding: 0 .6rem; color: var(--muted); font-size: var(--note); }
.brake:hover, .waiting:hover { background: var(--raised); color: var(--text); }
.brake[aria-disabled=true] { opacity: .55; cursor: default; }
.count { min-inline-size: 1.35rem; padding: 0 .4rem; border-radius: 1rem; background: var(--accent); color: var(--on-accent); font-size: var(--small); font-weight: 650; line-height: 1.35rem; text-align: center; }
.queue { inline-size: min(40rem, calc(100vw - 1.5rem)); max-inline-size: none; max-block-size: min(46rem, calc(100dvh - 1.5rem)); padding: 0; overflow: hidden; }
.queue[open] { display: flex; flex-direction: column; }
.queue > * { flex: none; }
.queue .bar { padding-inline: 1.25rem .6rem; border-block-end: 1px solid var(--line); }
.queue .bar h2 { flex: 1; }
.queue .list-note { padding: 1rem 1.25rem; }
.queue .cards { flex: 0 1 auto; min-block-size: 0; display: grid; gap: 1rem; padding: 1rem; overflow: hidden auto; overscroll-behavior: contain; }
.queue .list-note:empty { display: none; }
.queue.sheet { inline-size: 100vw; max-block-size: calc(100dvh - 1.5rem); margin-block-end: 0; border-width: 1px 0 0; border-end-start-radius: 0; border-end-end-radius: 0; }
.sheet .bar { min-block-size: 3rem; padding-block: .2rem; }
.sheet .cards { display: flex; flex-direction: column; padding: .6rem 0 0; overflow: hidden; }
.sheet .card { min-block-size: 0; max-block-size: none; border: 0; border-radius: 0; background: none; }
.queue .cards:empty { display: none; }
@media (pointer: coarse) {
  .evidence-mark { min-inline-size: 1.75rem; line-height: 1.75rem; border-radius: .9rem; }
  .answering button { min-block-size: 44px; }
  .answering .box textarea { margin-block: .6rem; font-size: 1rem; /* Safari zooms in on less */ }
  .card summary { padding-block: .6rem; }
}
@container (max-width: ${PHONE_PX}px) {
  .answering .choices > .main-button { flex: 1 0 100%; }
  .log .card[data-asks] :is(details, .time, .answering, .problem) { display: none; }
  .log .card[data-asks] > .review { display: block; }
}
@container (max-width: 899.98px) {
  .brake .label { display: none; }
  .waiting .label { position: absolute; clip-path: inset(50%); }
  .brake, .waiting { justify-content: center; padding: 0 .3rem; }
  .card { padding: .85rem .9rem; }
}
`);
