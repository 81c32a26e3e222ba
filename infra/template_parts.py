"""Generate what all workflows share in template.yaml: their machines with logs and roles, alarms, and dashboard
widgets. `make docs` writes them."""

from collections.abc import Iterable, Iterator

from qwestly_agent.workflow import Side, Workflow
from qwestly_agent.workflows import WORKFLOWS

MACHINE = """\
  # Standard: every state counts once, and an execution may wait for a slot or, up to a week, for a person. Its log has
  # no data: what users wrote is in the database alone.
  {id}Machine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: !Sub ${{AWS::StackName}}-{dashed}
      Type: STANDARD
      DefinitionUri: .aws-sam/statemachines/{name}.json
      DefinitionSubstitutions:
{substitutions}
      Role: !GetAtt MachineRole.Arn
      Logging:
        Level: ERROR
        IncludeExecutionData: false
        Destinations: [{{CloudWatchLogsLogGroup: {{LogGroupArn: !GetAtt MachineLogs.Arn}}}}]
      Tracing: {{Enabled: true}}
"""
ALARM = """\
  {id}:
    Type: AWS::CloudWatch::Alarm
    Condition: AlarmsAreHeard
    Properties:
      AlarmName: !Sub ${{AWS::StackName}}-{id}
      AlarmDescription: An execution of {name} failed. Its history says in which state. docs/runbook.md#ExecutionsFailed
      Metrics:
        - {{Id: all, Expression: SUM(METRICS())}}
{metrics}      EvaluationPeriods: 1
      ComparisonOperator: GreaterThanThreshold
      Threshold: 0
      TreatMissingData: notBreaching
      AlarmActions: [!Ref Alarms]
      OKActions: [!Ref Alarms]
"""
METRIC = """\
        - Id: {id}
          ReturnData: false
          MetricStat: {{Period: 300, Stat: Sum, Metric: {{Namespace: AWS/States, MetricName: {name}, \
Dimensions: [{{Name: StateMachineArn, Value: !Ref {of}}}]}}}}
"""
OUTCOMES = ("Failed", "TimedOut", "Aborted")


def logical_id(workflow: Workflow) -> str:
    """Return the prefix of its resources' logical ids: `WriteLesson`."""
    return workflow.name.title().replace("_", "")


def functions(workflow: Workflow) -> dict[Side, str]:
    """Return the logical ids of its functions, by side."""
    folder = workflow.functions.title().replace("_", "")
    named: dict[Side, str] = {"opener": "OpenFilesFunction", "reader": f"{folder}ReaderFunction"}
    return {side: named.get(side, f"{folder}WriterFunction") for side in workflow.sides}


def machines() -> Iterator[str]:
    for workflow in WORKFLOWS:
        substitutions = [f"{side.title()}: !Ref {function}.Alias" for side, function in functions(workflow).items()]
        if workflow.asks:
            substitutions.append("Partition: !Ref AWS::Partition")
        yield MACHINE.format(
            id=logical_id(workflow),
            name=workflow.name,
            dashed=workflow.name.replace("_", "-"),
            substitutions="\n".join(f"        {each}" for each in substitutions),
        )


def alarms() -> Iterator[str]:
    for workflow in WORKFLOWS:
        of = logical_id(workflow)
        yield "  # What the brake stopped, or its user declined, did not fail."
        metrics = (
            METRIC.format(id=f"{each[0].lower()}{each[1:]}", name=f"Executions{each}", of=f"{of}Machine")
            for each in OUTCOMES
        )
        yield ALARM.format(id=f"{of}Failed", name=workflow.name, metrics="".join(metrics))


# --- the dashboard ----------------------------------------------------------------------------------------------------

WIDGET = (
    '{{"type": "metric", "properties": {{"title": "{title}", "region": "${{AWS::Region}}", "stat": "Sum", '
    '"period": {seconds}, "metrics": [{metrics}]}}}}'
)


def dashboard() -> Iterator[str]:
    arn = "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:${AWS::StackName}-"
    yield from _variable("WorkflowAlarms", (f'"{arn}{logical_id(each)}Failed"' for each in WORKFLOWS), bullet="-")
    yield from _variable("WorkflowWidgets", map(_widget, WORKFLOWS))


def _variable(name: str, items: Iterable[str], *, bullet: str = " ") -> Iterator[str]:
    yield f"        {bullet} {name}: !Sub |-"
    yield ",\n".join(f"            {item}" for item in items)


def _widget(workflow: Workflow) -> str:
    first, *others = (f"Executions{outcome}" for outcome in ("Succeeded", *OUTCOMES))
    executions = [f'["AWS/States", "{first}", "StateMachineArn", "${{{logical_id(workflow)}Machine}}"]']
    executions += [f'[".", "{name}", ".", "."]' for name in others]
    return WIDGET.format(title=f"{workflow.name}: executions", seconds=3_600, metrics=", ".join(executions))
