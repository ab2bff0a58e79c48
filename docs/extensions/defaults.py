"""A griffe extension: the reference shows the value of a default, `10`, not the name of its constant, `TIMEOUT_S`."""

from griffe import AliasResolutionError, Attribute, Expr, ExprName, Extension, Function, GriffeLoader, Module, Object


class Defaults(Extension):
    """Replaces defaults that are names of constants by the values of these constants."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **kwargs: object) -> None:
        """Replace the defaults of every function of a loaded package."""
        replace_in(pkg, pkg)


def replace_in(member: Object, package: Module) -> None:
    """Replace the defaults of an object, if it is a function, and of its members."""
    if isinstance(member, Function):
        for parameter in member.parameters:
            if isinstance(parameter.default, ExprName):
                parameter.default = value_of(parameter.default, package) or parameter.default
    for inner in member.members.values():
        if not inner.is_alias and isinstance(inner, Object):
            replace_in(inner, package)


def value_of(name: ExprName, package: Module) -> str | Expr | None:
    """Return the value of the constant that a name refers to, or None if it is no constant of the package."""
    path = name.canonical_path
    if not path.startswith(f"{package.path}."):
        return None
    try:
        constant = package[path.removeprefix(f"{package.path}.")]
        constant = constant.final_target if constant.is_alias else constant
    except (KeyError, AliasResolutionError):
        return None
    return constant.value if isinstance(constant, Attribute) else None
