import { describe, expect, it } from 'vitest';
import { type KubeCondition, setCondition } from '../../../src/kube/conditions.ts';
import {
  isAlreadyExists,
  isConflict,
  isExpired,
  isNotFound,
  isTransient,
  KubeError,
  kubeErrorOf,
} from '../../../src/kube/connection/error.ts';
import { apiVersion, JOBS, LEASES, microTime, NODES, objectKey, PODS, pathOf, refOf } from '../../../src/kube/resource.ts';

const EARLIER = new Date('2026-03-01T10:00:00.123Z');
const LATER = new Date('2026-03-01T10:05:00Z');
const READY = { type: 'Ready', status: 'True', reason: 'AllThere', message: 'Every worker is there.', observedGeneration: 1 } as const;

describe('a condition', () => {
  const before = setCondition([], READY, EARLIER);

  it('has the time of its first statement, in whole seconds', () => {
    expect(before).toEqual([{ ...READY, lastTransitionTime: '2026-03-01T10:00:00Z' }]);
  });

  const cases: Readonly<Record<string, readonly [change: Partial<KubeCondition>, time: string]>> = {
    'of another status has a new time': [{ status: 'False' }, '2026-03-01T10:05:00Z'],
    'of another reason has its old time': [{ reason: 'Scaling' }, '2026-03-01T10:00:00Z'],
    'of another generation has its old time': [{ observedGeneration: 2 }, '2026-03-01T10:00:00Z'],
  };
  it.each(Object.entries(cases))('%s', (_, [change, lastTransitionTime]) => {
    expect(setCondition(before, { ...READY, ...change }, LATER)).toEqual([{ ...READY, ...change, lastTransitionTime }]);
  });

  it('that says the same changes nothing, not even the array', () => expect(setCondition(before, { ...READY }, LATER)).toBe(before));

  it('leaves the others where they are', () => {
    const two = setCondition(before, { ...READY, type: 'Degraded' }, EARLIER);
    expect(setCondition(two, { ...READY, status: 'Unknown' }, LATER).map(({ type, status }) => `${type} ${status}`)).toEqual([
      'Ready Unknown',
      'Degraded True',
    ]);
  });
});

describe('a refusal of the API server', () => {
  it('is read from its status', () => {
    const status = {
      kind: 'Status',
      message: 'jobs "a" is invalid',
      reason: 'Invalid',
      code: 422,
      details: { causes: [{ field: 'spec.parallelism', reason: 'FieldValueInvalid', message: 'must be 0 or more' }] },
    };
    expect(kubeErrorOf(422, JSON.stringify(status))).toMatchObject({
      status: 422,
      reason: 'Invalid',
      message: 'jobs "a" is invalid',
      causes: status.details.causes,
      retryAfterSeconds: undefined,
    });
  });

  it('is read from the answer where a proxy gave it', () => {
    expect(kubeErrorOf(503, '<html>upstream</html>', '4')).toMatchObject({ status: 503, reason: 'Http503', retryAfterSeconds: 4 });
    expect(kubeErrorOf(404, '')).toMatchObject({ reason: 'NotFound', message: 'the API server answered 404' });
  });

  const kinds = [
    [404, 'NotFound', isNotFound, false],
    [409, 'AlreadyExists', isAlreadyExists, false],
    [409, 'Conflict', isConflict, false],
    [410, 'Expired', isExpired, false],
    [403, 'Forbidden', () => true, false],
    [429, 'TooManyRequests', () => true, true],
    [500, 'InternalError', () => true, true],
    [0, 'TimedOut', () => true, true],
    [0, 'Unreachable', () => true, true],
  ] as const;
  it.each(kinds)('%i %s is known as what it is', (status, reason, is, mayPass) => {
    const error = new KubeError(status, reason, 'no');
    expect([is(error), isTransient(error)]).toEqual([true, mayPass]);
  });

  it('is recognised in no error of another kind', () =>
    expect([isNotFound, isConflict, isTransient].map((is) => is(new Error('NotFound')))).toEqual([false, false, false]));
});

describe('an object', () => {
  it.each([
    ['/api/v1/pods', PODS, {}],
    ['/api/v1/namespaces/a/pods/b', PODS, { namespace: 'a', name: 'b' }],
    ['/api/v1/nodes/n', NODES, { name: 'n' }],
    ['/apis/batch/v1/namespaces/a/jobs', JOBS, { namespace: 'a' }],
    ['/apis/coordination.k8s.io/v1/namespaces/a/leases/b%2Fc', LEASES, { namespace: 'a', name: 'b/c' }],
  ])('lies at %s', (path, resource, ref) => expect(pathOf(resource, ref)).toBe(path));

  it('with a namespace is not named without', () => expect(() => pathOf(JOBS, { name: 'a' })).toThrow(TypeError));

  it('has a key that leads back to it', () => {
    for (const ref of [{ name: 'a' }, { namespace: 'b', name: 'a' }]) expect(refOf(objectKey({ metadata: ref }))).toEqual(ref);
    expect([apiVersion(JOBS), apiVersion(PODS)]).toEqual(['batch/v1', 'v1']);
  });

  it('has times of six digits where MicroTime wants them', () => expect(microTime(EARLIER)).toBe('2026-03-01T10:00:00.123000Z'));
});
