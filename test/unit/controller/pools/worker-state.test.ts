/** What a worker is up to whose pod does not start, from what the kubelet says of it. */
import { describe, expect, it } from 'vitest';
import { type KubeJob, type Pod, trimPod } from '../../../../src/controller/pools/objects.ts';
import { workerStateOf } from '../../../../src/controller/pools/observe/worker-state.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const MINUTE_MS = 60_000;
const job: KubeJob = { metadata: { name: 'filemill-image-0', namespace: 'team', uid: 'uid-0' } };

interface Prepared {
  readonly is: 'True' | 'False';
  /** By the node's clock. */
  readonly forMs: number;
}

/** @param prepared of the condition PodReadyToStartContainers */
function pod(prepared: Prepared | undefined, { reason = 'ContainerCreating', scheduledForMs = 60 * MINUTE_MS } = {}): Pod {
  const since = (ms: number) => new Date(NOW - ms).toISOString();
  const said = { reason: '', message: '' };
  return trimPod({
    metadata: { name: 'filemill-image-0-abcde', namespace: 'team', uid: 'pod-0' },
    status: {
      phase: 'Pending',
      conditions: [
        { ...said, type: 'PodScheduled', status: 'True', lastTransitionTime: since(scheduledForMs) },
        ...(prepared === undefined
          ? []
          : [{ ...said, type: 'PodReadyToStartContainers', status: prepared.is, lastTransitionTime: since(prepared.forMs) }]),
      ],
      containerStatuses: [{ state: { waiting: { reason } } }],
    },
  });
}
const stateOf = (its: Pod | undefined) => workerStateOf(job, its, undefined, { refusal: undefined, silence: undefined, now: NOW });

describe('a worker', () => {
  it('is stuck when its node has not prepared its pod in five minutes', () => {
    expect(stateOf(pod({ is: 'False', forMs: 7 * MINUTE_MS }))).toEqual({
      state: 'stuck',
      trouble: {
        reason: 'ContainerFailed',
        message: expect.stringMatching(/has not prepared the pod filemill-image-0-abcde in 7 min: .* See kubectl describe pod/),
      },
    });
  });

  it.each([
    ['while its node prepares its pod', pod({ is: 'False', forMs: 5 * MINUTE_MS - 1 })],
    ['on a node whose clock is slow', pod({ is: 'False', forMs: 50 * MINUTE_MS }, { scheduledForMs: MINUTE_MS })],
    ['while its image is pulled, however long that takes', pod({ is: 'True', forMs: 50 * MINUTE_MS })],
    ['where its kubelet does not say how far it is', pod(undefined)],
    ['without a pod', undefined],
  ])('is starting %s', (_, its) => expect(stateOf(its)).toEqual({ state: 'starting' }));

  it('is stuck for the reason that the kubelet gives, where it gives one', () => {
    const { trouble } = stateOf(pod({ is: 'False', forMs: 7 * MINUTE_MS }, { reason: 'ErrImagePull' }));
    expect(trouble?.reason).toBe('ImagePullFailed');
  });
});
