/** Bundles src/ into dist/: the elements, with the licences of what is in them, and the tokens alone, as a module and as a style sheet; with `test`, the
 * tests for Node. */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { build } from "esbuild";

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };

if (process.argv[2] === "test") {
  const entryPoints = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "dist/test", outExtension: { ".js": ".mjs" }, platform: "node", external: ["typescript"] });
} else {
  const entryPoints = { qwestly: "src/index.ts", tokens: "src/tokens.ts" };
  await build({ ...common, entryPoints, outdir: "dist", minify: true });
  const { FONT, MORE_CONTRAST, TOKENS } = await import("./dist/tokens.js");
  writeFileSync("dist/tokens.css", `:root {\n  ${TOKENS}\n  --font: ${FONT};\n}\n@media (prefers-contrast: more) { :root { ${MORE_CONTRAST} } }\n`);
  const licence = (name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf-8")}`;
  writeFileSync("dist/licences.txt", ["dompurify", "lit", "marked"].map(licence).join("\n\n"));
}
