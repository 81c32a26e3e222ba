import assert from "node:assert/strict";
import test from "node:test";

import { htmlOf, lexed } from "../src/markdown_html.ts";

const html = (text: string) => {
  const blocks = lexed(text);
  return blocks.map((block) => (block.type === "space" ? "" : htmlOf(block, blocks.links))).join("");
};

const DOCUMENT = `# Plan

| Year | Role |
|:-----|-----:|
| 2021 | **Lead** |

- [x] Asked
- [ ] Answered
  1. Twice

> Quoted by \`somebody\`

\`\`\`python
print("<b>")
\`\`\`

~~Gone~~, and [more][1] at https://qwestly.example.

[1]: https://qwestly.example/more
`;

test("a table, tasks, code and links are what GitHub makes of them", () => {
  const shown = html(DOCUMENT);
  assert.match(shown, /<h3>Plan<\/h3>/); // below the headings of the page
  assert.match(shown, /<th align="left">Year<\/th>[\s\S]*<td align="right"><strong>Lead<\/strong><\/td>/);
  assert.equal(shown.match(/type="checkbox"/g)?.length, 2);
  assert.equal(shown.match(/checked=""/g)?.length, 1);
  assert.match(shown, /<code class="language-python">print\(&quot;&lt;b&gt;&quot;\)/);
  assert.match(shown, /<del>Gone<\/del>, and <a href="https:\/\/qwestly.example\/more">more<\/a>/);
});

test("every beginning of a document is shown, and ends as the whole does", () => {
  for (let length = 0; length <= DOCUMENT.length; length++) {
    const shown = html(DOCUMENT.slice(0, length));
    for (const tag of ["table", "ul", "pre", "blockquote", "strong", "del"]) {
      const count = (pattern: string) => shown.match(new RegExp(pattern, "g"))?.length ?? 0;
      assert.equal(count(`<${tag}[ >]`), count(`</${tag}>`), `${tag} after ${length} characters`);
    }
  }
});

test("HTML, images and links that are none of the web stay text", () => {
  const shown = html('<img src=x onerror="go()"> ![a](https://qwestly.example/x.png) [b](javascript:go()) **<script>**');
  assert.doesNotMatch(shown, /<(img|script|a)[ >]/);
  assert.match(shown, /&lt;img src=x onerror=&quot;go\(\)&quot;&gt;/);
  assert.match(shown, /\[image: a\] \[b\]\(javascript:go\(\)\)/);
});
