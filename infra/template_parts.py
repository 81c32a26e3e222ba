"""Generate what is equal for all workflows in template.yaml: their machines with logs and roles, alarms, and widgets of
the dashboard. `make docs` writes them."""

from collections.abc import Iterable, Iterator

from qwestly_agent.workflow import Workflow
from qwestly_agent.workflows import WORKFLOWS

MACHINE = """\
  # Standard: every state counts once, and an execution may wait for a slot or, up to a week, for a person.
  {id}Machine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: !Sub ${{AWS::StackName}}-{dashed}
      Type: STANDARD
      DefinitionUri: .aws-sam/statemachines/{name}.json
      DefinitionSubstitutions:
{substitutions}
      Role: !GetAtt {id}MachineRole.Arn
      # Without data: what users wrote is in the database alone.
      Logging:
        Level: ERROR
        IncludeExecutionData: false
        Destinations:
          - CloudWatchLogsLogGroup:
              LogGroupArn: !GetAtt {id}MachineLogs.Arn
      Tracing:
        Enabled: true

  # One for all states: they read as one story.
  {id}Logs:
    Type: AWS::Logs::LogGroup
    Properties:
      LogGroupName: !Sub /aws/lambda/${{AWS::StackName}}-{dashed}
      RetentionInDays: !Ref LogRetentionDays

  # Under the prefix for which AWS keeps the permissions of its own deliveries short.
  {id}MachineLogs:
    Type: AWS::Logs::LogGroup
    Properties:
      LogGroupName: !Sub /aws/vendedlogs/states/${{AWS::StackName}}-{dashed}
      RetentionInDays: !Ref LogRetentionDays

  # Into the one group of all states.
  MayLog{id}:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      Description: Writes the log of {name}.
      PolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Action: [logs:CreateLogStream, logs:PutLogEvents]
            Resource: !GetAtt {id}Logs.Arn

  # It calls its own states and, if it asks for approval, the function that does so.
  {id}MachineRole:
    Type: AWS::IAM::Role
    Properties:
      Description: What {name} may do.
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Principal: {{Service: states.amazonaws.com}}
            Action: sts:AssumeRole
            Condition: {{StringEquals: {{aws:SourceAccount: !Ref AWS::AccountId}}}}
      ManagedPolicyArns: [!Ref MayBeFollowed]
      Policies:
        - PolicyName: call-own-states
          PolicyDocument:
            Version: "2012-10-17"
            Statement:
              - Effect: Allow
                Action: lambda:InvokeFunction
                Resource:
{called}
"""
ALARM = """\
  {id}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {description}
      Metrics:
        - {{Id: all, Expression: SUM(METRICS())}}
{metrics}      EvaluationPeriods: {periods}
      ComparisonOperator: GreaterThanThreshold
      Threshold: {threshold}
      TreatMissingData: notBreaching
      AlarmActions: [!Ref Alarms]
      OKActions: [!Ref Alarms]
"""
METRIC = """\
        - Id: {id}
          ReturnData: false
          MetricStat: {{Period: {seconds}, Stat: Sum, Metric: {{Namespace: {namespace}, MetricName: {name}, \
Dimensions: [{{Name: {dimension}, Value: !Ref {of}}}]}}}}
"""
OUTCOMES = ("Failed", "TimedOut", "Aborted")


def logical_id(workflow: Workflow) -> str:
    """Return what the logical ids of its resources begin with: `WriteLesson`."""
    return workflow.name.title().replace("_", "")


def functions(workflow: Workflow) -> list[str]:
    return [f"{logical_id(workflow)}{side.title()}Function" for side in workflow.sides]


def machines() -> Iterator[str]:
    for workflow in WORKFLOWS:
        called = dict(zip(map(str.title, workflow.sides), functions(workflow), strict=True))
        if workflow.asks:
            called["ApproveRequest"] = "ApproveRequestFunction"
        yield MACHINE.format(
            id=logical_id(workflow),
            name=workflow.name,
            dashed=workflow.name.replace("_", "-"),
            substitutions="\n".join(
                [
                    *(f"        {name}: !Ref {function}.Alias" for name, function in called.items()),
                    *(["        Partition: !Ref AWS::Partition"] if workflow.asks else []),
                ]
            ),
            called="\n".join(f"                  - !Ref {function}.Alias" for function in called.values()),
        )


def alarms() -> Iterator[str]:
    for workflow in WORKFLOWS:
        name, of = workflow.name, logical_id(workflow)
        yield "  # Single failures are retried."
        yield ALARM.format(
            id=f"{of}Errors",
            description=f"States of {name} fail again and again.",
            metrics=_of_functions(workflow, "Errors", 900),
            periods=1,
            threshold=3,
        )
        yield "  # A workflow that finds no slot waits and retries, as intended, but not for long."
        yield ALARM.format(
            id=f"{of}Throttled",
            description=f"A function of {name} has found no free slot in each five minutes of a quarter of an hour.",
            metrics=_of_functions(workflow, "Throttles", 300),
            periods=3,
            threshold=0,
        )
        yield "  # What the brake stopped, or its user declined, did not fail."
        yield ALARM.format(
            id=f"{of}Failed",
            description=f"An execution of {name} failed. Its history says in which state.",
            metrics=_of_executions(workflow),
            periods=1,
            threshold=0,
        )


def _of_functions(workflow: Workflow, name: str, seconds: int) -> str:
    metric = {"namespace": "AWS/Lambda", "name": name, "dimension": "FunctionName", "seconds": seconds}
    each = zip(workflow.sides, functions(workflow), strict=True)
    return "".join(METRIC.format(id=side, of=function, **metric) for side, function in each)


def _of_executions(workflow: Workflow) -> str:
    metric = {"namespace": "AWS/States", "dimension": "StateMachineArn", "seconds": 300}
    of = f"{logical_id(workflow)}Machine"
    return "".join(
        METRIC.format(id=f"{outcome[0].lower()}{outcome[1:]}", name=f"Executions{outcome}", of=of, **metric)
        for outcome in OUTCOMES
    )


# --- the dashboard ----------------------------------------------------------------------------------------------------

WIDGET = (
    '{{"type": "metric", "properties": {{"title": "{title}", "region": "${{AWS::Region}}", "stat": "Sum", '
    '"period": {seconds}, "metrics": [{metrics}]}}}}'
)


def dashboard() -> Iterator[str]:
    yield from _variable(
        "WorkflowAlarms",
        (
            ", ".join(f'"${{{logical_id(each)}{kind}.Arn}}"' for kind in ("Errors", "Throttled", "Failed"))
            for each in WORKFLOWS
        ),
        bullet="-",
    )
    yield from _variable(
        "WorkflowFunctions",
        (", ".join(f'["...", "${{{function}}}"]' for function in functions(each)) for each in WORKFLOWS),
    )
    yield from _variable("WorkflowWidgets", (widget for each in WORKFLOWS for widget in _widgets(each)))


def _variable(name: str, items: Iterable[str], *, bullet: str = " ") -> Iterator[str]:
    yield f"        {bullet} {name}: !Sub |-"
    yield ",\n".join(f"            {item}" for item in items)


def _widgets(workflow: Workflow) -> Iterator[str]:
    first, *others = (f"Executions{outcome}" for outcome in ("Succeeded", *OUTCOMES))
    executions = [f'["AWS/States", "{first}", "StateMachineArn", "${{{logical_id(workflow)}Machine}}"]']
    executions += [f'[".", "{name}", ".", "."]' for name in others]
    yield WIDGET.format(title=f"{workflow.name}: executions", seconds=3_600, metrics=", ".join(executions))
    first, *others = functions(workflow)
    more = [f'["...", "${{{function}}}"]' for function in others]
    trouble = [
        metric
        for name in ("Throttles", "Errors")
        for metric in (f'["AWS/Lambda", "{name}", "FunctionName", "${{{first}}}"]', *more)
    ]
    title = f"{workflow.name}: no free slot, and crashes"
    yield WIDGET.format(title=title, seconds=300, metrics=", ".join(trouble))
