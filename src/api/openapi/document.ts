/** The API as an OpenAPI 3.1 document, built from the schemas that the routes use. */
import { tools } from '../../catalog/tools.ts';
import type { Figures } from './form.ts';
import { headers, parameters } from './headers.ts';
import { resultPaths } from './paths/results.ts';
import { servicePaths } from './paths/service.ts';
import { uploadPaths } from './paths/uploads.ts';
import { workPaths } from './paths/work.ts';
import { allRefusals } from './refusals.ts';
import { schemas } from './schemas.ts';
import type { Paths } from './shape.ts';

export interface ApiDocument {
  readonly openapi: '3.1.1';
  readonly info: object;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly object[];
  readonly paths: Paths;
  readonly components: Readonly<Record<string, object>>;
}

/** Stands for the service's own address in examples, where only the reader knows it. */
export const EXAMPLE_BASE = 'http://localhost:8080';

/** @param url what every path is appended to: absolute, or a path */
export function describeApi(version: string, url: string, figures: Figures): ApiDocument {
  const example = url.startsWith('/') ? EXAMPLE_BASE : url;
  return {
    openapi: '3.1.1',
    info: {
      title: 'filemill',
      version,
      summary: 'Converts and processes files',
      description: `Files in, files out, without an account: pictures, recordings, documents and PDFs, and ${tools.length} tools.

\`\`\`sh
curl --fail-with-body -L -o photo.jpg -F file=@photo.png -F to_format=jpg '${example}/api/v1/convert?download=1'
\`\`\`

A file that is already on the Internet needs no upload:

\`\`\`sh
curl --fail-with-body --json '{"url": "https://example.org/report.docx", "to_format": "pdf"}' ${example}/api/v1/convert
\`\`\`

- [What can be converted to what](${example}/api/v1/formats), and [with which options](${example}/api/v1/formats?from=png&expand=options)
- [The tools](${example}/api/v1/tools)
- [Your limits](${example}/api/v1/limits), and [the health of the service](${example}/api/v1/health)
- [This document](${example}/openapi.json), to generate clients from
- For AI assistants: \`${example}/mcp\`

Every success is \`{ "data": … }\`, every error \`{ "error": { "code", "message", "details" } }\`; \`details\` always has \`request_id\` and \`retryable\`. Numbers and switches of a form are sent as text. Fields may be added to any answer; none is renamed or dropped within \`/api/v1\`.`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url }],
    tags: [
      { name: 'Convert', description: 'One file, or several, to another format.' },
      { name: 'Jobs', description: 'State and output of a request. Both are kept for two hours.' },
      { name: 'Tools', description: 'One operation on one file or several.' },
      { name: 'Recipes', description: 'Several steps, each a conversion or a tool, as one job.' },
      { name: 'Uploads', description: 'Files that are uploaded before the request that uses them.' },
      { name: 'Service', description: 'Formats, tools, limits and health of this service.' },
    ],
    paths: joined([workPaths(figures), resultPaths, uploadPaths(figures), servicePaths]),
    components: { schemas: schemas(), responses: allRefusals(), headers, parameters },
  };
}

/** A path may have methods in several of them. */
function joined(all: readonly Paths[]): Paths {
  const paths: Record<string, Paths[string]> = {};
  for (const [path, methods] of all.flatMap(Object.entries<Paths[string]>)) paths[path] = { ...paths[path], ...methods };
  return paths;
}
