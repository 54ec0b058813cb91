/**
 * Prints what an image contains as an SPDX document (spdx.github.io/spdx-spec/v2.3): packages of Debian, npm and PyPI, the same bytes for the same image.
 *
 *   node images/sbom.ts NAME IMAGE-ID REVISION CREATED <LIST    LIST: `deb`, package, version, source package, architecture; or `npm` or `pypi`,
 *                                                             name@version, licence; between tabs. CREATED: RFC 3339, in UTC
 */
import { readFileSync } from 'node:fs';

interface Contained {
  readonly name: string;
  readonly version: string;
  /** Package URL (github.com/package-url/purl-spec). */
  readonly url: string;
  readonly license?: string;
}

function contained(line: string): Contained {
  const [kind, ...fields] = line.split('\t');
  const [first = '', second = ''] = fields;
  const [, , source = '', architecture = ''] = fields;
  if (kind === 'deb' && fields.length === 4) {
    const origin = source === first ? '' : `&upstream=${encodeURIComponent(source)}`;
    return {
      name: first,
      version: second,
      url: `pkg:deb/debian/${encodeURIComponent(first)}@${encodeURIComponent(second)}?arch=${architecture}&distro=trixie${origin}`,
    };
  }
  const at = first.lastIndexOf('@');
  if ((kind !== 'npm' && kind !== 'pypi') || fields.length !== 2 || at < 1)
    throw new Error(`this is no package of Debian, npm or PyPI: ${line}`);
  const [name, version] = [first.slice(0, at), first.slice(at + 1)];
  return { name, version, url: `pkg:${kind}/${name.replace('@', '%40')}@${encodeURIComponent(version)}`, license: second };
}

/** A licence as SPDX writes them; what npm's authors write instead is none. */
const EXPRESSION = /^[A-Za-z0-9.+()-]+( (AND|OR|WITH) [A-Za-z0-9.+()-]+)*$/;

function packageOf({ name, version, url, license = '' }: Contained) {
  return {
    SPDXID: idOf(url),
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: EXPRESSION.test(license) && license !== 'unknown' ? license : 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: url }],
  };
}
/** Letters, digits, dots and hyphens are allowed; two URLs never give the same. */
const idOf = (url: string): string => `SPDXRef-${url.replace(/[^A-Za-z0-9.]/g, (sign) => `-${sign.charCodeAt(0).toString(16)}-`)}`;

const [image, id, revision, created] = process.argv.slice(2);
if (created === undefined) throw new Error('it is called as: node images/sbom.ts NAME IMAGE-ID REVISION CREATED <LIST');
const packages = readFileSync(0, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => packageOf(contained(line)));
const whole = {
  SPDXID: 'SPDXRef-image',
  name: `filemill/${image}`,
  versionInfo: revision,
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  licenseConcluded: 'NOASSERTION',
  licenseDeclared: 'Apache-2.0',
  copyrightText: 'NOASSERTION',
  primaryPackagePurpose: 'CONTAINER',
};
const relationships = [
  { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: whole.SPDXID },
  ...packages.map(({ SPDXID }) => ({ spdxElementId: whole.SPDXID, relationshipType: 'CONTAINS', relatedSpdxElement: SPDXID })),
];
const document = {
  spdxVersion: 'SPDX-2.3',
  dataLicense: 'CC0-1.0',
  SPDXID: 'SPDXRef-DOCUMENT',
  name: `filemill/${image}`,
  documentNamespace: `https://filemill.io/sbom/${image}/${id}`,
  creationInfo: { created, creators: ['Tool: filemill-images'] },
  packages: [whole, ...packages],
  relationships,
};
console.log(JSON.stringify(document, undefined, 1));
