import { RecoveryPolicySpecSchema } from '../src/policy/recovery-policy.ts';
import { PolicyStatusSchema } from '../src/policy/reporting/policy-status.ts';
import { TaintPolicySpecSchema } from '../src/policy/taint-policy.ts';
import { TolerationPolicySpecSchema } from '../src/policy/toleration-policy.ts';
import { TolerationRestrictionSpecSchema } from '../src/policy/toleration-restriction.ts';

/** The parts of a JSON Schema that the page shows. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** The reference page of the policies: every field, from the schemas. */
export function policyPage(): string {
  return [
    '# Policies, field by field\n',
    '`apiVersion` is `taintkeeper.dev/v1alpha1`. Fields in **bold** type are required.\n',
    '## TaintPolicy\n',
    ...table('spec', TaintPolicySpecSchema),
    '## TolerationPolicy\n',
    ...table('spec', TolerationPolicySpecSchema),
    '## TolerationRestriction\n',
    ...table('spec', TolerationRestrictionSpecSchema),
    '## RecoveryPolicy\n',
    ...table('spec', RecoveryPolicySpecSchema),
    '## The status of all kinds\n',
    'Where policies are custom resources, taintkeeper writes their status; in a file it is left alone.\n',
    ...table('status', PolicyStatusSchema),
  ].join('\n');
}

function table(part: string, schema: object): string[] {
  return [
    `| field of \`${part}\` | type | meaning |`,
    '| --- | --- | --- |',
    ...fields(schema as Schema, '').map(({ path, type, meaning }) => `| \`${path}\` | ${type} | ${meaning} |`),
    '',
  ];
}

function fields(schema: Schema, prefix: string): { path: string; type: string; meaning: string }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inner = field.items ?? field;
    const path = `${prefix}${name}${field.items ? '[]' : ''}`;
    const type = inner.enum ? inner.enum.map((value) => `\`${value}\``).join(', ') : (inner.type ?? 'any');
    const required = schema.required?.includes(name) ?? false;
    const meaning = `${field.description ?? ''}${defaultOf(field)}`;
    return [{ path, type: required ? `**${type}**` : type, meaning }, ...fields(inner, `${path}.`)];
  });
}

function defaultOf({ default: value }: Schema): string {
  if (value === undefined) return '';
  return ` Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`;
}
