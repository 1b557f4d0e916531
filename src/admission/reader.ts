import type { Static, TProperties, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Path } from '../policy/problem.ts';
import { schemaProblems } from '../policy/schema-problems.ts';
import { MalformedObjectError } from './malformed-object-error.ts';

/**
 * What takes parsed JSON for what the schema says; `path` is where in the review it stands. Its check is compiled when it is first needed,
 * in milliseconds that no start has to wait for.
 * @throws MalformedObjectError
 */
export function reader<Schema extends TSchema>(schema: Schema): (value: unknown, path: Path) => Static<Schema> {
  let validator: Validator<TProperties, Schema> | undefined;
  return (value, path) => {
    validator ??= Compile(schema);
    if (!validator.Check(value)) throw malformed(schema, value, path);
    return value;
  };
}

/** The error for a value at `path` that its schema refuses, with the first thing wrong with it. */
function malformed(schema: TSchema, value: unknown, path: Path): MalformedObjectError {
  const [problem] = schemaProblems(schema, value);
  return new MalformedObjectError([...path, ...(problem?.path ?? [])], problem?.message ?? 'not valid');
}
