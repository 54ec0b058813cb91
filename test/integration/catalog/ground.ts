/** What a file of conversion tests works with: a service, and folders for its files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

export interface ConversionGround {
  readonly url: string;
  /** Absolute path of a folder that is empty at first. */
  readonly home: string;
  /** A new folder in `home`. */
  aFolder(): Promise<string>;
  /** Converts a file, and downloads the result into `home`. */
  to(file: string, target: string, fields?: Readonly<Record<string, string>>): ReturnType<typeof convertTo>;
}

/** There while the tests of the file run, and gone afterwards. */
export function conversionGround(name: string): ConversionGround {
  let [service, home] = [undefined, ''] as [Pick<Service, 'url'> | undefined, string];
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), `filemill-${name}-`));
    service = await sharedService();
  });
  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });
  return {
    get url() {
      return service?.url ?? '';
    },
    get home() {
      return home;
    },
    aFolder: () => mkdtemp(join(home, 'a-')),
    to: (file, target, fields = {}) => convertTo(service?.url ?? '', home, file, target, fields),
  };
}
