/** Styles of a document as its reader sees it. */

export const DOCUMENT_STYLES = new CSSStyleSheet();
DOCUMENT_STYLES.replaceSync(`
.page-like { padding: 1.2rem 1.5rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--background); }
.page-like u { text-decoration: underline wavy var(--warning, #b97f12) 1.5px; text-underline-offset: .2em; }
.page-like :is(h3, h4, h5, p, ul) { margin-block: .5rem; }
.page-like ul { display: block; list-style: disc; padding-inline-start: 1.2rem; }
`);
