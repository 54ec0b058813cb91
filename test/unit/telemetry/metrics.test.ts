/** What each event of a process becomes in `/metrics`. */
import { expect, it } from 'vitest';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';

const ROWS: readonly (readonly [string, (metrics: Metrics) => void, string])[] = [
  [
    'a request',
    (it) => it.requestEnded('GET', '/livez', 200, 1),
    'filemill_http_request_seconds_count{method="GET",route="/livez",status="200"} 1',
  ],
  [
    'a request by an unknown method',
    (it) => it.requestEnded('BREW', '/', 405, 1),
    'filemill_http_request_seconds_count{method="other",route="/",status="405"} 1',
  ],
  [
    'a turn of the event loop that took long',
    (it) => it.loopHeld('/livez', 0.3),
    'filemill_event_loop_blocked_seconds_count{route="/livez"} 1',
  ],
  ['bytes of files', (it) => it.uploaded(7), 'filemill_uploaded_bytes_total 7'],
  [
    'the end of a job',
    (it) => it.jobEnded('image', 'error', 'timeout'),
    'filemill_jobs_ended_total{pool="image",status="error",reason="timeout"} 1',
  ],
  ['a conversion that gave way', (it) => it.jobGaveWay('image'), 'filemill_jobs_gave_way_total{pool="image"} 1'],
  ['a conversion', (it) => it.conversionEnded('qpdf', 1), 'filemill_conversion_seconds_count{engine="qpdf"} 1'],
  ['a property that was lost', (it) => it.propertyLost('qpdf', 'links'), 'filemill_fidelity_lost_total{engine="qpdf",property="links"} 1'],
  [
    'the start of a resident',
    (it) => it.residentStarted('office', 'fork'),
    'filemill_residents_started_total{program="office",fresh="fork"} 1',
  ],
  ['a record that cannot be read', (it) => it.recordUnreadable('job'), 'filemill_unreadable_records_total{kind="job"} 1'],
  ['the orders of a worker', (it) => it.workerSeen({ slots: 4, busy: 3 }), 'filemill_worker_busy 3'],
  ['a device that could not be used', (it) => it.deviceRefused('ai'), 'filemill_worker_device_refusals_total{toolchain="ai"} 1'],
  ['the use of the disk', (it) => it.storageSeen({ usedBytes: 5, freeBytes: 6, full: undefined }), 'filemill_storage_used_bytes 5'],
];

it.each(ROWS)('%s is counted', async (_, happens, line) => {
  const metrics = createMetrics();
  expect((await createMetrics().text()).split('\n')).not.toContain(line);
  happens(metrics);
  expect((await metrics.text()).split('\n')).toContain(line);
});
