/** docs/candidate-app-api.yaml: the schemas of bodies and headers stand there and nowhere else. */
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { parse } from "yaml";

export type Conforms = (schema: string, value: unknown) => boolean;

export function contract(path: string): Conforms {
  const { components } = parse(readFileSync(path, "utf8"));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "contract", components });
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile({ $ref: `contract#/components/schemas/${schema}` });
    compiled.set(schema, validate);
    return validate(value);
  };
}
