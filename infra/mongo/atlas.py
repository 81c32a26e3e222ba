"""Generate the database's roles and users of infra/atlas.yaml. `make docs` writes them."""

from collections.abc import Iterator

from infra.local.environment import FUNCTION, Template
from infra.mongo.roles import AGENT, OTHER_ROLES, ROLES, Role

HEAD = """\
  {id}:
    Type: MongoDB::Atlas::{type}{after}
    Properties:
      Profile: !Ref Profile
      ProjectId: !GetAtt Project.Id"""
USER = """\
      DatabaseName: $external
      AWSIAMType: ROLE
      Username: !Sub arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:role/qwestly-agent-${{Stage}}-{role}
      Roles: [{{DatabaseName: admin, RoleName: {database_role}}}]
"""


def roles_and_users() -> Iterator[str]:
    for role in ROLES:
        yield HEAD.format(id=_id(role), type="CustomDBRole", after="")
        yield f"      RoleName: {role.name}\n      Actions:"
        for action in role.for_atlas("")["actions"]:
            yield f"      - Action: {action['action']}\n        Resources:"
            for place in action["resources"]:
                yield f"        - {{DB: !Ref Database, Collection: {place['collection']}, Cluster: false}}"
        yield ""
    template = Template.load()
    for name, properties in template.of_type(FUNCTION).items():
        database_role = role_of(template, name)
        after = f"\n    DependsOn: {_id(database_role)}"
        yield HEAD.format(id=f"{name}User", type="DatabaseUser", after=after)
        role = template.resources[properties["Role"][1].partition(".")[0]]["Properties"]["RoleName"]
        yield USER.format(role=role[1].removeprefix("${AWS::StackName}-"), database_role=database_role.name)


def role_of(template: Template, function: str) -> Role:
    """Return a function's database role, by the secret that contains its address when passwords are used."""
    secret = template.environment(function)["MONGODB_URI"].rpartition("/")[2]
    return {f"mongodb-{name}-uri": role for name, role in OTHER_ROLES.items()}.get(secret, AGENT)


def _id(role: Role) -> str:
    return f"{role.name[0].upper()}{role.name[1:]}"
