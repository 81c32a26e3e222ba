import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { type Expression, type Node, type SourceFile, type TemplateLiteral, SyntaxKind } from "typescript/unstable/ast";
import { isBinaryExpression, isCallExpression, isPropertyAccessExpression, isPropertyAssignment, isStringLiteral, isTaggedTemplateExpression, isTemplateExpression, isNoSubstitutionTemplateLiteral } from "typescript/unstable/ast/is";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API } from "typescript/unstable/sync";

/** Attributes and properties that a person sees or hears. */
const SEEN = /^(aria-?(label|description)|title|placeholder|alt|textContent|innerText)$/i;
const LETTERS = /[\p{L}“”…]/u;
/** A capital letter as in a sentence or a label; a character that only people's text has; in a template also two words in a row. */
const LABEL = /^\s*\p{Lu}\p{Ll}|[’“”…]/u;
const WORDS = /\p{L}{2,} \p{L}{2,}/u;
/** Names of keys, headers and the like. */
const PROTOCOL = /^(AbortError|Authorization|Bearer |Content-(Disposition|Type)|Enter|Escape|Files|Retry-After)$/;
const SELECTS = /^(closest|matches|querySelector|querySelectorAll)$/;

const partsOf = (template: TemplateLiteral): { texts: string[]; values: Expression[] } =>
  isTemplateExpression(template)
    ? { texts: [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)], values: template.templateSpans.map(({ expression }) => expression) }
    : { texts: [template.text], values: [] };

/** The texts of a source that belong into strings.ts. */
function literalsOf(source: SourceFile): string[] {
  const found: string[] = [];
  const report = (text: string) => void found.push(text.trim());

  /** A value that is shown as it is: any literal in it is text. */
  const show = (node: Node): void => {
    if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return LETTERS.test(node.text) ? report(node.text) : undefined;
    if (isTemplateExpression(node)) return partsOf(node).texts.filter((text) => LETTERS.test(text)).forEach(report);
    if (isBinaryExpression(node) && /^[=!]==$/.test(node.operatorToken.getText(source))) return;
    if (SHOWN_THROUGH.has(node.kind)) node.forEachChild(show);
  };

  const inMarkup = (template: TemplateLiteral) => {
    const { texts, values } = partsOf(template);
    const markup = texts.join("\0");
    for (const text of markup.split(/<[^>]*>/)) if (LETTERS.test(text)) report(text);
    for (const [, name, text] of markup.matchAll(/([\w-]+)="([^"]*)"/g)) if (SEEN.test(name!) && LETTERS.test(text!)) report(text!);
    for (const [place, value] of values.entries()) {
      const before = texts.slice(0, place + 1).join("\0");
      const isText = before.lastIndexOf("<") <= before.lastIndexOf(">");
      if (isText || SEEN.test(/([\w-]+)=$/.exec(before)?.[1] ?? "")) show(value);
    }
    values.forEach(visit);
  };

  const visit = (node: Node): void => {
    if (node.kind === SyntaxKind.ImportDeclaration || node.kind === SyntaxKind.LiteralType) return;
    if (isTaggedTemplateExpression(node)) {
      const tag = node.tag.getText(source);
      return tag === "html" ? inMarkup(node.template) : tag === "css" ? undefined : visit(node.template);
    }
    if (isCallExpression(node)) {
      const name = isPropertyAccessExpression(node.expression) ? node.expression.name.text : node.expression.getText(source);
      if (name === "element") node.arguments.slice(2).forEach(show);
      if (name === "spoken") node.arguments.forEach(show);
      if (name === "setAttribute" && SEEN.test((node.arguments[0] as { text?: string }).text ?? "")) show(node.arguments[1]!);
      if (SELECTS.test(name)) return;
    }
    if (isPropertyAssignment(node) && SEEN.test(node.name.getText(source).replaceAll('"', ""))) show(node.initializer);
    if (isBinaryExpression(node) && isPropertyAccessExpression(node.left) && SEEN.test(node.left.name.text)) show(node.right);
    if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) {
      if (LABEL.test(node.text) && !PROTOCOL.test(node.text)) report(node.text);
    } else if (isTemplateExpression(node)) {
      for (const text of partsOf(node).texts) if ((LABEL.test(text) || WORDS.test(text)) && !PROTOCOL.test(text)) report(text);
    }
    node.forEachChild(visit);
  };
  visit(source);
  return [...new Set(found)];
}

const SHOWN_THROUGH = new Set([SyntaxKind.ArrayLiteralExpression, SyntaxKind.BinaryExpression, SyntaxKind.ConditionalExpression, SyntaxKind.ParenthesizedExpression, SyntaxKind.SpreadElement]);

/** What `read` makes of each source of a project. */
function withSources<T>(config: string, fs: ReturnType<typeof createVirtualFileSystem> | undefined, read: (sources: Map<string, SourceFile>) => T): T {
  const api = new API(fs ? { fs } : {});
  try {
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    const names = project!.program.getSourceFileNames().filter((name) => name.includes("/src/") && !name.includes("/node_modules/"));
    return read(new Map(names.map((name) => [name.replace(/.*\/src\//, ""), project!.program.getSourceFile(name)!])));
  } finally {
    api.close();
  }
}

test("a person reads and hears nothing that strings.ts does not have", () => {
  withSources(`${process.cwd()}/tsconfig.json`, undefined, (sources) => {
    assert.ok(sources.size > 50);
    const found = [...sources].filter(([name]) => name !== "strings.ts" && !name.startsWith("styles/")).map(([name, source]) => [name, literalsOf(source)] as const);
    assert.deepEqual(found.filter(([, texts]) => texts.length), []);
  });
});

test("each group of strings has none that no element shows", () => {
  withSources(`${process.cwd()}/tsconfig.json`, undefined, (sources) => {
    const code = [...sources].flatMap(([name, { text }]) => (name === "strings.ts" ? [] : [text])).join("");
    const groups = [...readFileSync("src/strings.ts", "utf-8").matchAll(/^  (\w+): \{\n(.*?)^  \},/gms)];
    const names = groups.flatMap(([, group, text]) => [...text!.matchAll(/^    (\w+):/gm)].map(([, name]) => `strings.${group}.${name}`));
    assert.ok(names.length > 400);
    const byCode = /^strings\.errors\./; // the server's
    assert.deepEqual(names.filter((name) => !byCode.test(name) && !new RegExp(`${name}\\b`).test(code)), []);
  });
});

test("a text that is written into an element is found", () => {
  const planted = {
    'html`<p>saved</p>`': "saved",
    'html`<p>${isDue ? "since" : when}</p>`': "since",
    'html`<input placeholder="name">`': "name",
    'html`<button aria-label="Undo: ${title}"></button>`': "Undo: \0",
    'html`<p>“${quote}”</p>`': "“\0”",
    'element("p", {}, is ? "done" : "")': "done",
    'element("p", { title: "more" })': "more",
    'button.setAttribute("aria-label", "close")': "close",
    'node.textContent = `${count} steps`': "steps",
    'problem("We couldn’t save that.")': "We couldn’t save that.",
    'said(`${count} had already finished`)': "had already finished",
    'const LABELS = { open: "Open" }': "Open",
  };
  const files = Object.fromEntries(Object.keys(planted).map((text, index) => [`/planted/src/${index}.ts`, text]));
  const fs = createVirtualFileSystem({ ...files, "/planted/tsconfig.json": '{"compilerOptions": {"noLib": true, "types": []}}' });
  withSources("/planted/tsconfig.json", fs, (sources) => {
    for (const [index, expected] of Object.values(planted).entries()) assert.deepEqual(literalsOf(sources.get(`${index}.ts`)!), [expected]);
  });
});
