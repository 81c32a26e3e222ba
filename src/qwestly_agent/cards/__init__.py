"""Career cards and profile texts: gather evidence, draft, check, publish."""
