"""Decisions that code makes by words of human languages: each such module is listed, and they stay few."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from qwestly_agent.text.language import function_words

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src/qwestly_agent"
[SECTION] = re.findall(
    r"^## Words that code reads\n(.*?)^## ", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.M | re.S
)
MOST_LINES = 400
FEWEST_LANGUAGES = 3
LANGUAGES = ("de", "fr", "es", "pt", "it", "nl")


def rows() -> Iterator[tuple[Path, set[str], Path]]:
    """The module, the names in it that judge (all, if none is named), and the test."""
    for code, _, tests in re.findall(r"^\| (`.+?) \| (.+?) \| `(.+?)` \|$", SECTION, re.M):
        module, *names = re.findall(r"`([^`]+)`", code)
        yield PACKAGE / module, set(names), ROOT / tests


def lines_of(module: Path, names: set[str]) -> int:
    """Count the lines of code of these definitions, without docstrings, comments and blank lines."""
    source = module.read_text(encoding="utf-8")
    tree = ast.parse(source)
    parts = [each for each in tree.body if not names or names & set(_defined(each))]
    assert names <= {name for each in parts for name in _defined(each)}, f"{module.name} lacks one of {names}"
    texts = {line for each in ast.walk(tree) if _is_docstring(each) for line in _lines(each)}
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code = {
        line
        for each in tokenize.generate_tokens(io.StringIO(source).readline)
        if each.type not in blank
        for line in range(each.start[0], each.end[0] + 1)
    }
    return len((code - texts) & {line for each in parts for line in _lines(each)})


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign():
            return [each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _lines(node: ast.AST) -> range:
    assert isinstance(node, ast.stmt)
    first = min(each.lineno for each in (*getattr(node, "decorator_list", ()), node))
    return range(first, (node.end_lineno or node.lineno) + 1)


def test_at_most_400_tested_lines_of_code_judge_meaning_by_words() -> None:
    found = list(rows())
    assert sum(lines_of(module, names) for module, names, _ in found) <= MOST_LINES
    assert [test for *_, test in found if not test.is_file()] == []


def test_each_module_with_words_in_three_languages_is_listed() -> None:
    """Modules that read sentences contain their function words."""
    all_words = Counter(chain.from_iterable(map(function_words, (*LANGUAGES, "en"))))
    own = [{each for each in function_words(one) if len(each) > 2 and all_words[each] == 1} for one in LANGUAGES]
    for module in PACKAGE.rglob("*.py"):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        texts = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        words = {
            word
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in texts
            for word in re.findall(r"[^\W\d_]+", each.value.lower())
        }
        if sum(not words.isdisjoint(each) for each in own) >= FEWEST_LANGUAGES:
            assert f"`{module.relative_to(PACKAGE)}`" in SECTION, module
