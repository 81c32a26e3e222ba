import assert from "node:assert/strict";
import test from "node:test";

import { until } from "../src/time.ts";

test("what is left is said as people say it, and never as less than was promised", () => {
  const now = new Date(2025, 5, 15, 15, 6).getTime();
  const said = [7 * 24, 48, 47.99, 33, 24, 8, 2, 1.5, 0.99, 0.01, 0].map((hours) => until(new Date(now + hours * 3_600_000).toISOString(), now).replace(/(?<=\d) (?=[AP]M)/g, " "));
  assert.deepEqual(said, [
    "in 7 days, on Sunday, June 22 at 3:06 PM",
    "in 2 days, on Tuesday, June 17 at 3:06 PM",
    "in 2 days, on Tuesday, June 17 at 3:05 PM",
    "in 2 days, on Tuesday, June 17 at 12:06 AM",
    "tomorrow at 3:06 PM",
    "today at 11:06 PM",
    "today at 5:06 PM",
    "in 90 minutes",
    "in 60 minutes",
    "in 1 minute",
    "now",
  ]);
});
