/** What Argo CD makes of filemill's resources, by the Lua that manifests/argocd gives it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const scripts = (parse(readFileSync('manifests/argocd/health.yaml', 'utf8')) as { data: Record<string, string> }).data;

/** JSON as a Lua expression. */
function lua(value: unknown): string {
  if (value === undefined || value === null) return 'nil';
  if (Array.isArray(value)) return `{${value.map(lua).join(',')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, of]) => `[${JSON.stringify(key)}]=${lua(of)}`)
    .join(',')}}`;
}

function healthOf(script: string, resource: object): string[] {
  const program = `local obj = ${lua(resource)}\nlocal health = (function()\n${script}\nend)()\nprint(health.status)\nprint(health.message)`;
  const { stdout, stderr } = spawnSync('lua5.4', ['-'], { input: program, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

const condition = (type: string, status: string, reason = 'Tried') => ({ type, status, reason, message: `${type} is ${status}` });
const seen = (...conditions: object[]) => ({ metadata: { generation: 2 }, status: { observedGeneration: 2, conditions } });

describe.each(Object.entries(scripts))('%s', (_, script) => {
  it.each([
    ['no controller has seen', { metadata: { generation: 1 }, status: { observedGeneration: -1 } }, 'Progressing'],
    ['was changed since', { ...seen(condition('Ready', 'True')), metadata: { generation: 3 } }, 'Progressing'],
    ['is under way', seen(condition('Ready', 'True'), condition('Reconciling', 'True')), 'Progressing'],
    ['an operator has to look after', seen(condition('Ready', 'False'), condition('Stalled', 'True')), 'Degraded'],
    ['is as it should be', seen(condition('Ready', 'True'), condition('Stalled', 'False')), 'Healthy'],
    ['is paused', seen(condition('Ready', 'True', 'Paused')), 'Suspended'],
    ['is not ready yet', seen(condition('Ready', 'False')), 'Progressing'],
  ])('that %s', (_name, resource, health) => expect(healthOf(script, resource)[0]).toBe(health));

  it('says why', () => expect(healthOf(script, seen(condition('Stalled', 'True')))[1]).toBe('Stalled is True'));
});
