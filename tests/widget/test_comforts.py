"""Search, rename, edit, regenerate, copy, GitHub's Markdown, and the scroll position."""

import pytest
from playwright.sync_api import Page, expect

from tests.servers import until
from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import NOTHING, Card, approval, visit
from tests.widget.test_widget import Widget, answered, asked, ready

TABLE = """| Year | Role |
|---|---|
| 2021 | Lead |

> Somebody said so.

- [x] done
- [ ] open

~~gone~~

```python
print("hi")
```
"""


@pytest.fixture
def widget(page: Page) -> Widget:
    return visit(page)


@pytest.fixture
def last(page: Page, backend: ScriptedBackend) -> Widget:
    """An open conversation of one turn."""
    backend.keep("c1", "Mine", asked("m1", "Who am I?"), answered("You are Ada.", id="msg_a"))
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    expect(widget.words).to_have_text("You are Ada.")
    return widget


def scroll_up(widget: Widget) -> None:
    """Scroll to the beginning, again if a late layout change returned to the end."""

    def is_up() -> bool:
        widget.log.evaluate("node => node.scrollTop = 0")
        return widget.button("Jump to the latest message").is_visible()

    until(is_up)


@pytest.mark.thorough
def test_tables_quotes_task_lists_and_code_are_rendered(widget: Widget, backend: ScriptedBackend):
    backend.stream().begin().text(TABLE[:40]).text(TABLE[40:]).done(TABLE)
    widget.say("Format this")
    expect(widget.answer.get_by_role("cell")).to_have_text(["2021", "Lead"])
    expect(widget.answer.locator("blockquote")).to_have_text("Somebody said so.")
    boxes = widget.answer.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    expect(boxes.first).to_be_checked()
    expect(boxes.first).to_be_disabled()
    expect(widget.answer.locator("del")).to_have_text("gone")
    expect(widget.answer.locator(".code-bar")).to_contain_text("python")


ITEMS = "".join(f"- **Item** {number}\n" for number in range(12))
ROWS = "".join(f"| {number} | **Lead** |\n" for number in range(9))
GROWING = {
    "a list": ITEMS,
    "a list with paragraphs from its end on": f"{ITEMS}\n- Last\n",
    "a list with paragraphs": ITEMS.replace("\n", "\n\n"),
    "a numbered list": "".join(f"{number}. Item\n   - [x] inner\n   - [ ] other\n" for number in range(7, 19)),
    "tasks with paragraphs": "".join(f"- [{'x' if number % 2 else ' '}] Task {number}\n\n" for number in range(9)),
    "a list that moves inwards": "".join(f"{' ' * number}- Item {number}\n\n" for number in range(6)),
    "two lists": f"{ITEMS}{ITEMS.replace('-', '*')}\nThe end.",
    "a table": "| Year | Role |\n|---:|---|\n"
    + "".join(f"| {number} | **L** |\n" for number in range(9))
    + "\nThe end.",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", GROWING)
def test_an_answer_streamed_letter_by_letter_renders_as_it_does_after_a_reload(
    page: Page, backend: ScriptedBackend, name: str
):
    text = GROWING[name]
    widget = visit(page)
    page.evaluate("() => { window.requestAnimationFrame = render => { render(); return 0; }; }")
    stream = backend.stream("c1").begin()
    for letter in text:
        stream.text(letter)
    stream.done("")
    widget.say("Write")
    expect(widget.send).to_be_visible()
    grown = widget.words.evaluate("node => node.innerHTML")
    backend.keep("c1", "Written", asked("m1", "Write"), answered(text))
    page.reload()
    expect(Widget(page).answer).to_have_attribute("aria-busy", "false")
    assert grown == Widget(page).words.evaluate("node => node.innerHTML")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["a list", "a list with paragraphs", "a numbered list", "a table"])
def test_finished_text_is_not_rendered_again(widget: Widget, backend: ScriptedBackend, name: str):
    half = len(GROWING[name]) // 2
    begun, rest = GROWING[name][:half], GROWING[name][half:]
    stream = backend.stream("c1").begin().text(begun)
    widget.say("Write")
    first = widget.words.locator("li, td").first
    expect(first).to_be_visible()
    first.evaluate("node => { window.first = node; }")
    count = widget.words.locator("li, td").count()
    stream.text(rest)
    expect(widget.words.locator("li, td").nth(count)).to_be_visible()
    assert first.evaluate("node => node === window.first")
    stream.done("")


@pytest.mark.thorough
def test_an_answer_and_a_code_block_can_be_copied(widget: Widget, backend: ScriptedBackend):
    page = widget.page
    page.evaluate("""() => {
        window.copied = [];
        const clipboard = { writeText: async text => { window.copied.push(text); } };
        Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
    }""")
    backend.stream().begin().done(TABLE)
    widget.say("Format this")
    widget.button("Copy code").click()
    expect(widget.button("Copied")).to_be_visible()
    widget.button("Copy answer").click()
    page.wait_for_function("window.copied.length == 2")
    assert page.evaluate("window.copied") == ['print("hi")', TABLE]


@pytest.mark.thorough
def test_the_last_message_can_be_edited_in_place(last: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("You are Bea.")
    last.button("Edit this message").click()
    field = last.page.get_by_role("textbox", name="New wording")
    expect(field).to_have_value("Who am I?")
    field.fill("Who am I really?")
    field.press("Enter")
    assert backend.wait_for(1, "POST", "/api/chat")[0].body == {
        "conversation_id": "c1",
        "message": "Who am I really?",
        "replaces": "m1",
    }
    expect(last.button("Edit this message")).to_be_hidden()
    stream.done("You are Bea.")
    expect(last.said).to_have_text(["Who am I really?"])
    expect(last.words).to_have_text("You are Bea.")
    expect(last.button("Edit this message")).to_be_attached()


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["Escape", "Enter"])
def test_an_edit_without_changes_sends_nothing(last: Widget, backend: ScriptedBackend, key: str):
    last.button("Edit this message").click()
    last.page.get_by_role("textbox", name="New wording").press(key)
    expect(last.button("Edit this message")).to_be_focused()
    assert not backend.chats()


@pytest.mark.thorough
def test_the_last_answer_can_be_regenerated(last: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("You are Ada, again.")
    last.button("Answer again").click()
    assert backend.wait_for(1, "POST", "/api/chat")[0].body == {"conversation_id": "c1", "replaces": "msg_a"}
    stream.done("You are Ada, again.")
    expect(last.words).to_have_text("You are Ada, again.")
    expect(last.said).to_have_text(["Who am I?"])


@pytest.mark.thorough
def test_a_conversation_continued_elsewhere_is_reloaded_and_nothing_replaced(last: Widget, backend: ScriptedBackend):
    backend.refuse(409, "changed", "Only the last answer can be made again.")
    last.button("Answer again").click()
    expect(last.notice).to_contain_text("Only the last answer can be made again.")
    expect(last.words).to_have_text("You are Ada.")


@pytest.mark.thorough
def test_conversations_can_be_searched_by_their_text(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Trains", asked("m1", "Night trains"), answered("Fine."))
    backend.keep("c2", "Card", asked("m2", "Draft my card"), answered("With <b>payments</b>."))
    widget = visit(page)
    expect(widget.rows).to_have_count(2)
    box = page.get_by_role("searchbox", name="Search conversations")
    box.fill("payments")
    expect(widget.rows).to_have_count(1)
    expect(widget.rows.locator(".snippet")).to_have_text("With <b>payments</b>.")
    expect(widget.rows.locator("mark")).to_have_text("payments")
    box.fill("submarines")
    expect(page.get_by_text("Nothing found for “submarines”.")).to_be_visible()
    box.press("Escape")
    expect(widget.rows).to_have_count(2)
    expect(box).to_have_value("")


@pytest.mark.thorough
def test_a_conversation_can_be_renamed(last: Widget, backend: ScriptedBackend):
    last.button("Rename “Mine”").click()
    field = last.page.get_by_role("textbox", name="Title of the conversation")
    field.fill("Who <i>I</i> am")
    field.press("Escape")
    expect(last.rows).to_have_count(1)
    assert not backend.asked("PATCH", "/api/conversations/c1")
    last.button("Rename “Mine”").click()
    field.fill("Who <i>I</i> am")
    field.press("Enter")
    assert backend.wait_for(1, "PATCH", "/api/conversations/c1")[0].body == {"title": "Who <i>I</i> am"}
    expect(last.rows.locator(".name")).to_have_text("Who <i>I</i> am")
    expect(last.page.get_by_role("heading", name="Who <i>I</i> am")).to_be_visible()


@pytest.mark.thorough
def test_a_button_jumps_to_the_latest_message(last: Widget, backend: ScriptedBackend):
    jump = last.button("Jump to the latest message")
    expect(jump).to_be_hidden()
    stream = backend.stream("c1").begin().text("One.\n\n" * 60)
    last.say("Go on")
    expect(last.answer.get_by_text("One.").last).to_be_in_viewport()
    scroll_up(last)
    expect(jump).to_be_visible()
    jump.click()
    expect(last.answer.get_by_text("One.").last).to_be_in_viewport()
    expect(jump).to_be_hidden()
    stream.done("One.")


CLAIMS = [{"text": f"Claim {number}.", "quotes": [], "marks": []} for number in range(60)]
LONG = NOTHING | {"title": "Publish it", "sections": [{"heading": "Work", "kind": "experience", "claims": CLAIMS}]}
# The controls of a card that another node covers, and the height in which its text is visible.
READ = """card => {
    const root = card.getRootNode();
    const at = ({ left, top, width, height }) => root.elementFromPoint(left + width / 2, top + height / 2);
    const controls = [...card.querySelectorAll(".answering :is(button, textarea)")].filter(it => it.checkVisibility());
    const [text, bar] = [".question", ".answering"].map(each => card.querySelector(each).getBoundingClientRect());
    return {
        covered: controls.filter(it => !it.contains(at(it.getBoundingClientRect()))).map(it => it.outerHTML),
        apart: text.bottom <= bar.top && bar.bottom <= innerHeight,
        height: text.height,
    };
}"""


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (768, 1024), (360, 740)])
def test_the_buttons_of_a_long_approval_cover_none_of_its_text(
    page: Page, backend: ScriptedBackend, width: int, height: int
):
    page.set_viewport_size({"width": width, "height": height})
    widget = visit(page)
    stream = backend.stream("c1").begin()
    widget.say("Draft my card")
    stream.send("approval_required", **backend.ask(approval(preview=LONG)))
    is_phone = width <= 480
    card = Card(page.get_by_role("dialog", name="Your decision") if is_phone else widget.log, "Publish it")
    expect(card.group.get_by_role("heading", name="Publish it")).to_be_in_viewport(ratio=1)
    for claim in ("Claim 0.", "Claim 59."):
        card.group.get_by_text(claim).scroll_into_view_if_needed()
        expect(card.button("Decline")).to_be_in_viewport(ratio=1)
        found = card.group.evaluate(READ)
        assert (found["covered"], found["apart"]) == ([], True)
        assert found["height"] > height * (0.5 if is_phone else 0.3)
    stream.done("")


@pytest.mark.thorough
def test_on_a_phone_an_approval_opens_as_a_sheet_that_closes_when_decided(phone: Page, backend: ScriptedBackend):
    widget = visit(phone)
    sheet = phone.get_by_role("dialog", name="Your decision")
    stream = backend.stream("c1").begin()
    widget.say("Draft my card")
    stream.send("approval_required", **backend.ask(approval(preview=LONG))).done("")
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_be_hidden()
    asked_in_log = Card(widget.log, "Publish it")
    expect(asked_in_log.buttons).to_have_count(0)
    asked_in_log.button("Review").press("Enter")
    backend.refuse(423, "braked", "The agent is paused.", on="POST /api/chat")
    Card(sheet, "Publish it").decline()
    expect(Card(sheet, "Publish it").problem).to_have_text("The agent is paused.")
    backend.stream("c1").begin().done("Fine.")
    Card(sheet, "Publish it").press("Decline")
    backend.become("ap_1", "rejected", decided_by="chat")
    expect(sheet).to_be_hidden()
    expect(asked_in_log.outcome).to_have_text("Declined")
    expect(asked_in_log.outcome).to_be_focused()


@pytest.mark.thorough
def test_an_approval_does_not_open_over_a_message_being_typed(phone: Page, backend: ScriptedBackend):
    widget = visit(phone)
    stream = backend.stream("c1").begin().text("Here")
    widget.say("Draft my card")
    expect(widget.words).to_have_text("Here")
    widget.box.fill("And then")
    stream.send("approval_required", **backend.ask(approval(preview=LONG)))
    expect(Card(widget.log, "Publish it").button("Review")).to_be_visible()
    expect(phone.get_by_role("dialog", name="Your decision")).to_be_hidden()
    stream.done("")


@pytest.mark.thorough
def test_an_approval_that_arrives_in_another_view_leaves_that_view_usable(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    widget = ready(page)
    stream = backend.stream("c1").begin()
    widget.say("Draft my card")
    views = page.get_by_role("navigation", name="Views")
    views.get_by_role("button", name="Memory").click()
    with page.expect_response("**/api/updates*"):
        stream.send("approval_required", **backend.ask(approval(preview=LONG))).done("")
    page.get_by_role("searchbox").click(timeout=5_000)
    views.get_by_role("button", name="Chat").click(timeout=5_000)
    expect(Card(widget.log, "Publish it").button("Approve")).to_be_visible()


@pytest.mark.thorough
def test_a_message_written_during_a_pause_is_sent_after_one_confirmation(page: Page, backend: ScriptedBackend):
    widget = visit(page)
    widget.button("Pause everything").click()
    expect(widget.button("Resume")).to_be_visible()
    backend.refuse(423, "braked", "The agent is paused.")
    widget.say("Draft my card")
    expect(widget.answer).to_contain_text("The agent is paused.")
    widget.button("Resume").click()
    question = widget.page.get_by_text("Send the message that you wrote while it was paused?")
    expect(question).to_be_visible()
    assert len(backend.chats()) == 1, "nothing is sent before it is answered"
    backend.stream("c1").begin().done("Gladly.")
    widget.page.get_by_role("alert").get_by_role("button", name="Send").click()
    expect(widget.words).to_have_text("Gladly.")
    expect(question).to_be_hidden()
    assert [each["message"] for each in backend.chats()] == ["Draft my card"] * 2


@pytest.mark.thorough
def test_next_steps_appear_under_the_last_answer_and_work(page: Page, backend: ScriptedBackend):
    widget = visit(page)
    names = ("Decide on one change", "Draft my Qwestly Card", "Suggest a headline")
    backend.next_steps = [
        {"label": label, "does": does} for label, does in zip(names, ("review", "say", "say"), strict=True)
    ]
    steps = page.get_by_role("group", name="Next steps").get_by_role("button")
    expect(steps).to_have_count(0)
    stream = backend.stream("c1").begin().text("Here it")
    widget.say("Hello")
    expect(widget.words).to_have_text("Here it")
    expect(steps).to_have_count(0)
    stream.text(" is.").done("Here it is.")
    expect(steps).to_have_text(names)
    backend.stream("c1").begin().done("Three of them.")
    steps.nth(2).click()
    expect(widget.words.last).to_have_text("Three of them.")
    expect(steps).to_have_text(names[:2])
    assert backend.chats()[-1]["message"] == "Suggest a headline"
    steps.first.click()
    expect(page.get_by_role("dialog", name="Waiting for you")).to_be_visible()


# With a card's buttons at the end of the view: those covered by "Jump to the latest".
COVERED = """log => {
    const rectangle = node => node.getBoundingClientRect();
    const bar = log.querySelector(".answering");
    log.scrollTop += rectangle(bar).bottom + 8 - rectangle(log).bottom;
    const button = rectangle(log.parentElement.querySelector(".latest"));
    const overlap = (one, other, from, to) => Math.min(one[to], other[to]) > Math.max(one[from], other[from]);
    const covers = it => overlap(it, button, "left", "right") && overlap(it, button, "top", "bottom");
    return [...bar.querySelectorAll("button, .box")].filter(it => it.checkVisibility() && covers(rectangle(it))).length;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1440, 1100, 768])
def test_nothing_covers_the_buttons_of_an_approval(page: Page, backend: ScriptedBackend, width: int):
    view = backend.ask(approval(preview=LONG))
    later = [each for at in range(9) for each in (asked(f"n{at}", "And?"), answered("So.", id=f"msg_{at}"))]
    backend.keep("c1", "Card", asked("m1", "Draft my card"), answered("Here it is.", approvals=[view]), *later)
    widget = visit(page)
    widget.rows.get_by_role("button", name="Card").first.click()
    page.set_viewport_size({"width": width, "height": 720})
    expect(widget.log.get_by_text("So.").last).to_be_in_viewport()
    scroll_up(widget)
    expect(widget.button("Jump to the latest message")).to_be_visible()
    assert widget.log.evaluate(COVERED) == 0
    expect(Card(widget.log, "Publish it").button("Decline")).to_be_in_viewport(ratio=1)


@pytest.mark.thorough
def test_a_change_is_shown_as_a_word_by_word_difference(last: Widget, backend: ScriptedBackend):
    change = {"name": "Headline", "before": "Product Manager, payments", "after": "Head of Product, payments"}
    stream = backend.stream("c1").begin()
    last.say("Change it")
    stream.send(
        "approval_required", **backend.ask(approval(preview=NOTHING | {"title": "Change it", "changes": [change]}))
    )
    card = Card(last.log, "Change it")
    expect(card.group.locator(".before mark")).to_have_text([" Manager"])
    expect(card.group.locator(".after mark")).to_have_text(["Head of "])
    expect(card.group.locator(".after mark")).to_have_css("display", "inline")
    hidden = card.group.locator(".before .spoken")
    assert hidden.evaluate("node => node.offsetParent.matches('.card, .card *')"), "it would make the page longer"
    stream.done("")


@pytest.mark.thorough
def test_a_published_card_has_a_link_to_its_public_view(page: Page, backend: ScriptedBackend):
    done = approval(status="done", decided_by="chat", effect="outward", link="https://cards.qwestly.example/c1")
    evil = approval("ap_2", status="done", decided_by="chat", effect="outward", link="javascript:alert(1)")
    laptop = approval("ap_3", status="done", decided_by="chat", effect="outward", link="http://127.0.0.1:8003/cards/c1")
    backend.keep("c1", "Mine", asked("m1", "Publish"), answered("Done.", approvals=[done, evil, laptop]))
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    links = widget.answer.get_by_role("link")
    expect(links).to_have_count(2)
    expect(links.first).to_have_attribute("href", "https://cards.qwestly.example/c1")
    expect(links.last).to_have_attribute("href", "http://127.0.0.1:8003/cards/c1")


@pytest.mark.thorough
def test_achievements_are_listed_below_their_position(last: Widget, backend: ScriptedBackend):
    texts = [("Lead at Acme, 2020", False), ("Cut costs.", True), ("Led 5.", True), ("Engineer at Beta", False)]
    claims = [{"text": text, "quotes": [], "marks": [], "is_detail": detail} for text, detail in texts]
    sections = [{"heading": "Work", "kind": "experience", "claims": claims}]
    stream = backend.stream("c1").begin()
    last.say("Draft my card")
    stream.send("approval_required", **backend.ask(approval(preview=NOTHING | {"title": "It", "sections": sections})))
    positions = Card(last.log, "It").group.locator(".experience > li")
    expect(positions).to_have_count(2)
    expect(positions.first.locator(".details > li")).to_have_text(["Cut costs.", "Led 5."])
    stream.done("")


@pytest.mark.thorough
def test_the_second_round_shows_the_users_change_request(last: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin()
    last.say("Shorter")
    stream.send("approval_required", **backend.ask(approval(wish="Shorter <b>please</b>")))
    expect(Card(last.log).group.get_by_text("You asked: “Shorter <b>please</b>”")).to_be_visible()
    stream.done("")


@pytest.mark.thorough
def test_a_search_step_shows_its_query(page: Page, backend: ScriptedBackend):
    step = {"id": "s1", "name": "search", "label": "Searching your documents…", "ok": True, "ms": 120, "problem": None}
    steps = [
        step | {"arguments": '{"query": "payments <b>", "limit": 5}'},
        step | {"id": "s2", "arguments": '{"query": "cut o'},
    ]
    backend.keep("c1", "Mine", asked("m1", "Search"), answered("Found.", steps=steps))
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    widget.answer.get_by_text("2 steps").click()
    expect(widget.steps.get_by_text("Looked for: payments <b>", exact=True)).to_be_visible()
    expect(widget.steps.get_by_text("query: cut o", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_a_running_search_step_shows_its_query(last: Widget, backend: ScriptedBackend):
    given = '{"field": "headline", "new_words": ["Lead <b>", "Manager"], "draft_id": "d1", "limit": 5}'
    step = {"id": "s1", "name": "search", "label": "Searching your profile…", "arguments": given}
    stream = backend.stream("c1").begin().send("tool_call", **step)
    last.say("Search")
    expect(last.steps.get_by_text("Field: headline · New words: Lead <b>, Manager", exact=True)).to_be_visible()
    stream.result("s1").done("Found.")


@pytest.mark.thorough
def test_a_page_can_show_its_brand(page: Page, backend: ScriptedBackend):
    page.goto("/host")
    page.evaluate("""() => {
        const chat = document.createElement("qwestly-chat");
        const given = { endpoint: "", "token-url": "/token", "brand-name": "Acme", "brand-color": "rgb(1, 2, 3)" };
        for (const [name, value] of Object.entries(given))
            chat.setAttribute(name, value);
        document.querySelector("qwestly-chat").replaceWith(chat);
    }""")
    expect(page.get_by_text("Acme")).to_be_visible()
    assert page.get_by_text("Acme").evaluate("node => getComputedStyle(node).color") == "rgb(1, 2, 3)"


@pytest.mark.thorough
def test_every_other_element_can_show_a_brand(page: Page, backend: ScriptedBackend):
    page.goto("/host")
    ready(page)
    page.evaluate("""() => {
        for (const name of "activity approvals briefing interview jobs learning memories settings".split(" ")) {
            const element = document.createElement(`qwestly-${name}`);
            const brand = { "brand-name": `Acme ${name}`, "brand-logo": "/favicon.svg", "brand-color": "rgb(1, 2, 3)" };
            for (const [key, value] of Object.entries({ endpoint: "", "token-url": "/token", ...brand }))
                element.setAttribute(key, value);
            document.body.append(element);
        }
    }""")
    brands = page.locator(".brand", has_text="Acme")
    expect(brands).to_have_count(8)
    for brand in brands.all():
        expect(brand.locator("img")).to_have_attribute("src", "/favicon.svg")
        assert brand.evaluate("node => getComputedStyle(node).color") == "rgb(1, 2, 3)"
