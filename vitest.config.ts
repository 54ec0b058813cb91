import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest first, as `make test` names them at its end: one that begins last would run alone when all others are done. */
const SLOWEST = [
  'test/integration/service/start.test.ts',
  'test/integration/service/broken-engines.test.ts',
  'test/integration/uploads/uploads.test.ts',
  'test/integration/api/http.test.ts',
  'test/integration/hostile/office.test.ts',
  'test/integration/hostile/pdf.test.ts',
  'test/integration/cluster/attempts.test.ts',
  'test/integration/catalog/tools-media.test.ts',
  'test/integration/exec/residents-http.test.ts',
  'test/integration/cluster/roles.test.ts',
  'test/cluster/controller-survival.test.ts',
  'test/integration/mcp/calls.test.ts',
  'test/integration/catalog/charsets.test.ts',
  'test/integration/service/survival.test.ts',
  'test/integration/service/worked-examples.test.ts',
  'test/integration/mcp/limits.test.ts',
  'test/integration/page/page.test.ts',
  'test/integration/page/brush.test.ts',
  'test/integration/catalog/tools-speech.test.ts',
  'test/conformance/outages-nats.test.ts',
  'test/unit/catalog/sniff.test.ts',
  'test/integration/catalog/webpage.test.ts',
  'test/cluster/secrets.test.ts',
  'test/cluster/conversion-jobs.test.ts',
  'test/formats/image.test.ts',
  'test/integration/hostile/images.test.ts',
  'test/integration/catalog/options-sound.test.ts',
  'test/formats/media.test.ts',
  'test/conformance/stores-nats.test.ts',
  'test/cluster/crds.test.ts',
  'test/integration/cluster/unwell.test.ts',
  'test/integration/cluster/survival.test.ts',
];

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = SLOWEST.indexOf(relative(import.meta.dirname, moduleId));
      return at < 0 ? SLOWEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

// Types that were stripped once stay stripped, for all processes of all runs.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '.cache/compiled');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores: more files at once would only make converters run into their time limits.
    maxWorkers: 2,
    maxConcurrency: 3,
    pool: 'forks',
    // Node strips the types itself, as it does where the program runs: nothing is transformed, and no module is sent from process to process.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    globalSetup: './test/global-setup.ts',
    runner: './test/drawing-runner.ts',
    // A table is known by the place of its `it.each`.
    includeTaskLocation: true,
    sequence: { sequencer: SlowestFirst },
  },
});
