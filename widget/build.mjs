/** Bundles src/ into dist/: the elements, and the tokens alone; with `test`, the tests for Node. */

import { readdirSync } from "node:fs";

import { build } from "esbuild";

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };

if (process.argv[2] === "test") {
  const entryPoints = readdirSync("test").map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "dist/test", outExtension: { ".js": ".mjs" }, platform: "node" });
} else {
  const entryPoints = { qwestly: "src/index.ts", tokens: "src/tokens.ts" };
  await build({ ...common, entryPoints, outdir: "dist", minify: true, sourcemap: true });
}
