/** The service that all files of a run share, with the settings that tests have unless they say otherwise. `test/global-setup.ts` starts and ends it. */
import { inject } from 'vitest';
import type { Service } from './service.ts';

/** For tests to which it is one of many clients' services: what they count, empty or stop is their own (`startService`). */
export async function sharedService(): Promise<Pick<Service, 'url'>> {
  const response = await fetch(inject('sharedServiceAt'));
  if (!response.ok) throw new Error(`the shared service did not start: ${await response.text()}`);
  return (await response.json()) as Pick<Service, 'url'>;
}
