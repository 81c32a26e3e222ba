"""Start lessons, and publish them."""

from collections.abc import Collection, Sequence

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.learning import Lesson, Module
from qwestly_agent.learning import WRITE_LESSON
from qwestly_agent.learning.model import LessonState
from qwestly_agent.learning.progress import new_practice
from qwestly_agent.learning.tree import Tree
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

# --- start ------------------------------------------------------------------------------------------------------------
# Start writing a lesson: on a module chosen on the page, on the next module of a topic, or on a topic that the library
# lacks.


MOST_A_DAY = 20
KEPT = ("writing", "ready")
DAY_SECONDS = 86_400.0
MOST_READ = 200
"""Number of the user's lessons that are read to determine what they have learned."""


async def start_chosen(services: Services, user_id: str, name: str) -> Lesson:
    """Start a lesson on the library module with this title or on the next module of this topic, or return the existing
    lesson. Raises `NotFound` for any other name, and the errors of `start_lesson`."""
    tree, before = Tree(await services.topics.list_modules()), await _lessons(services, user_id)
    module = _next_module(tree, name, before)
    if module is None:
        raise NotFound("The library has no such module.")
    on_it = [each for each in before if each.module_id == module.id]
    if kept := next((each for each in on_it if each.status in KEPT), None):
        return kept
    return await start_lesson(
        services, tree, user_id=user_id, run_id=services.new_id(), topic=module.title, asked_at=f"chosen {len(on_it)}"
    )


async def start_lesson(
    services: Services,
    tree: Tree,
    *,
    user_id: str,
    run_id: str,
    topic: str,
    asked_at: str,
    conversation_id: str | None = None,
    wish: str = "",
    language: str = "",
) -> Lesson:
    """Start a lesson, or return the existing one for the same offer or choice, which `asked_at` identifies.

    Raises `Invalid`, `Braked` and `Unavailable`.
    """
    await pause.check(services.signals, user_id)
    now = services.clock()
    lesson_id = f"les_{sha256_hex(user_id, conversation_id or '', asked_at, topic)[:32]}"
    before = await _lessons(services, user_id)
    known = next((each for each in before if each.id == lesson_id), None)
    if known is None:
        if sum(each.created_at > now - DAY_SECONDS for each in before) >= MOST_A_DAY:
            raise Invalid(f"{MOST_A_DAY} lessons a day are enough. They can go on tomorrow.")
        module = _next_module(tree, topic, before)
        known = Lesson(
            id=lesson_id,
            user_id=user_id,
            run_id=run_id,
            conversation_id=conversation_id,
            subject=module.subject if module else "",
            topic=module.topic if module else topic,
            module_id=module.id if module else "",
            title=module.title if module else topic,
            wish=wish,
            language=language,
            created_at=now,
            updated_at=now,
        )
    return await WRITE_LESSON.begin(services, known)


async def _lessons(services: Services, user_id: str) -> list[Lesson]:
    now = services.clock()
    return [services.lessons.as_seen(each, now) for each in await services.lessons.newest(user_id, MOST_READ)]


def _next_module(tree: Tree, name: str, lessons: Sequence[Lesson]) -> Module | None:
    """Return the module with this name. For a topic, return its first module without a lesson or, if there is none, its
    first module."""
    node = tree.find(name)
    if node is None or node.granularity == "subject":
        return None
    if node.granularity == "module":
        return next(each for each in tree.modules if each.id == node.module_id)
    had: Collection[str] = {each.module_id for each in lessons if each.status in KEPT}
    modules = [each for each in tree.modules if each.topic == node.topic]
    return next((each for each in modules if each.id not in had), modules[0])


# --- keep -------------------------------------------------------------------------------------------------------------
# Publish the lesson to the user and schedule its questions, once.


READY = "Your lesson is ready"


@state(LessonState)
async def keep(services: Services, given: LessonState) -> LessonState:
    """Mark the lesson as ready. Raises `NotFound`."""
    now = services.clock()
    lesson = await services.lessons.get(given.user_id, given.lesson_id)
    practices = [new_practice(now) for _ in lesson.questions]
    await services.lessons.move(given.user_id, given.lesson_id, now, "ready", READY, practices=tuple(practices))
    return given
