import assert from "node:assert/strict";
import { test } from "node:test";

import * as served from "@qwestly/agent-widget";

test("a server that renders a page imports the package, and finds no elements", () => {
  assert.deepEqual(Object.keys(served), ["setStrings"]);
  served.setStrings({ shared: { save: "Speichern" } });
});
