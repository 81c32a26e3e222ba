"""Alarms as CloudWatch evaluates them, as far as template.yaml uses it, over metrics that a test collected."""

import ast
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.infra.test_template import PARAMETERS, TEMPLATE

Series: TypeAlias = tuple[str, str, str]
"""Namespace, name, and the logical id of what the metric describes: a function, a machine, a queue, or the stack."""
STACK = "AWS::StackName"
NAMESPACE = "QwestlyAgent"
COMPARISONS = {"GreaterThanThreshold": lambda value, threshold: value > threshold}


@dataclass
class CloudWatch:
    values: dict[Series, dict[float, list[float]]] = field(
        default_factory=lambda: defaultdict[Series, dict[float, list[float]]](lambda: defaultdict(list))
    )
    """Values by series and whole minute, in order."""
    ringing: set[str] = field(default_factory=set[str])

    def put(self, now: float, name: str, value: float, namespace: str = NAMESPACE, of: str = STACK) -> None:
        self.values[namespace, name, of][now].append(value)

    def read_lines(self, now: float, written: str) -> None:
        """Add what a handler wrote in the embedded metric format, with the current time."""
        for line in written.splitlines():
            if line.startswith('{"_aws"'):
                found = json.loads(line)
                for declared in found["_aws"]["CloudWatchMetrics"]:
                    for metric in declared["Metrics"]:
                        for value in found[metric["Name"]]:
                            self.put(now, metric["Name"], value, declared["Namespace"])

    def evaluate(self, now: float) -> set[str]:
        """Evaluate every alarm, as CloudWatch does each minute, and return those in alarm."""
        for name, resource in TEMPLATE["Resources"].items():
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                is_ringing = self._state(resource["Properties"], now)
                if is_ringing is not None:
                    (self.ringing.add if is_ringing else self.ringing.discard)(name)
        return set(self.ringing)

    def _state(self, alarm: Mapping[str, Any], now: float) -> bool | None:
        """True if in alarm; None if the state does not change."""
        period = alarm.get("Period") or next(
            each["MetricStat"]["Period"] for each in alarm["Metrics"] if "MetricStat" in each
        )
        threshold = alarm["Threshold"]
        threshold = PARAMETERS[threshold["Ref"]]["Default"] if isinstance(threshold, dict) else threshold
        compare, missing = COMPARISONS[alarm["ComparisonOperator"]], alarm["TreatMissingData"]
        count = alarm["EvaluationPeriods"]
        values = [self._value(alarm, now - (n + 1) * period, now - n * period) for n in range(count)]
        if missing == "ignore" and None in values:
            return None
        breaching = [missing == "breaching" if value is None else compare(value, threshold) for value in values]
        return sum(breaching) >= alarm.get("DatapointsToAlarm", count)

    def _value(self, alarm: Mapping[str, Any], after: float, until: float) -> float | None:
        if "Metrics" not in alarm:
            return self._stat(alarm, alarm.get("Statistic") or alarm["ExtendedStatistic"], after, until)
        named = {
            each["Id"]: self._stat(each["MetricStat"]["Metric"], each["MetricStat"]["Stat"], after, until)
            for each in alarm["Metrics"]
            if "MetricStat" in each
        }
        expressions = {
            each["Id"]: _substituted(each["Expression"]) for each in alarm["Metrics"] if "Expression" in each
        }
        shown = expressions.pop("all")
        return calculate(shown, {**named, **{name: calculate(each, named) for name, each in expressions.items()}})

    def _stat(self, metric: Mapping[str, Any], stat: str, after: float, until: float) -> float | None:
        [dimension] = metric["Dimensions"]
        of = dimension["Value"]
        name = of["Ref"] if "Ref" in of else of["Fn::GetAtt"].partition(".")[0]
        series = self.values.get((metric["Namespace"], metric["MetricName"], name), {})
        found: list[list[float]] = []
        for at in reversed(series):  # newest first
            if at <= after:
                break
            if at <= until:
                found.append(series[at])
        return _statistic(stat, found)


def _substituted(expression: Any) -> str:
    if isinstance(expression, str):
        return expression
    return re.sub(r"\$\{(\w+)\}", lambda found: str(PARAMETERS[found[1]]["Default"]), expression["Fn::Sub"])


def _statistic(stat: str, minutes: Sequence[Sequence[float]]) -> float | None:
    if not minutes:
        return None
    match stat:
        case "Sum":
            return sum(map(sum, minutes))
        case "Maximum":
            return max(map(max, minutes))
        case _ if stat.startswith("p"):  # by nearest rank
            values = sorted(value for minute in minutes for value in minute)
            return values[math.ceil(float(stat[1:]) / 100 * len(values)) - 1]
        case _:
            raise NotImplementedError(stat)


def calculate(expression: str, named: Mapping[str, float | None]) -> float | None:
    """Calculate metric math; None if a required metric has no value in the period."""

    def total(values: Iterable[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return sum(there) if there else None

    python = expression.replace("||", " or ").replace("&&", " and ")

    def of(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if named[name] is None:
                    raise LookupError(name)
                return named[name]
            case ast.BinOp(left=left, op=op, right=right):
                one, two = of(left), of(right)
                return (
                    {ast.Add: one + two, ast.Sub: one - two, ast.Mult: one * two}.get(type(op))
                    if not isinstance(op, ast.Div)
                    else one / two
                )
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                one, two = of(left), of(right)
                return {ast.Gt: one > two, ast.GtE: one >= two, ast.Lt: one < two}[type(op)]
            case ast.BoolOp(op=op, values=values):
                return (any if isinstance(op, ast.Or) else all)([of(each) for each in values])
            case ast.Call(func=ast.Name(id="IF"), args=[condition, yes, no]):
                return of(yes) if of(condition) else of(no)
            case ast.Call(func=ast.Name(id="SQRT"), args=[argument]):
                return math.sqrt(of(argument))
            case ast.Call(func=ast.Name(id="SUM"), args=[ast.Call(func=ast.Name(id="METRICS"))]):
                return total(named.values())
            case ast.Call(func=ast.Name(id="SUM"), args=[ast.List(elts=several)]):
                return total(named[each.id] for each in several if isinstance(each, ast.Name))
            case _:
                raise NotImplementedError(ast.dump(node))

    try:
        return of(ast.parse(python.strip(), mode="eval").body)
    except LookupError:
        return None
