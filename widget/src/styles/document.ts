/** Styles of a document as its reader sees it. */

export const DOCUMENT_STYLES = new CSSStyleSheet();
DOCUMENT_STYLES.replaceSync(`
.page-like { color-scheme: light; padding: clamp(1rem, 6cqi, 3.5rem); border: 1px solid #dde4e0; border-radius: .3rem; background: #ffffff; color: #18211e; line-height: 1.45; box-shadow: 0 1px 6px rgb(8 14 12 / .12); }
.page-like :is(p, ul) { margin-block: .25rem .5rem; }
.page-like h3 { font-size: var(--heading); }
.page-like h4 { margin-block: 1.25rem .5rem; padding-block-end: .25rem; border-block-end: 1px solid #dde4e0; color: #0d6a59; font-size: var(--note); letter-spacing: .03em; }
.page-like h5 { margin-block: .75rem 0; font-size: 1rem; }
.page-like :is(h3, h5) + p { color: #56645f; font-size: var(--note); }
.page-like h5 + p { margin-block-start: 0; }
.page-like ul { display: block; list-style: disc; padding-inline-start: 1.2rem; }
`);
