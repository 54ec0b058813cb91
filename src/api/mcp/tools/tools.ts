/** The tools that assistants see for what the catalogue has: the conversion, and each tool whose file has words for MCP. */
import type { ListedTool, McpText } from '../../../catalog/listed-tool.ts';
import { textOf } from '../../../catalog/options/texts.ts';
import { listedTools } from '../../../catalog/tools.ts';
import { CONVERT_PARAMS } from './convert-params.ts';
import type { McpTool, Param } from './tool.ts';

const convertFile: McpTool = {
  name: 'convert_file',
  title: 'Convert file',
  description:
    'Converts one file to another format: images, audio, video, documents, spreadsheets, presentations, PDF, e-books, HTML, Markdown. Detects the source format. Also: extracts text, with OCR where needed (to_format txt), extracts audio from a video (mp3), renders PDF pages (png, with pages), cuts audio or video (start_time, end_time), prints a web page (its URL, pdf). Returns a download URL.',
  files: 'one',
  params: CONVERT_PARAMS,
  shows: true,
};

const LAST = listedTools.length;

export const mcpTools: readonly McpTool[] = [
  convertFile,
  ...listedTools
    .flatMap((tool) => (tool.mcp === undefined ? [] : [{ tool, mcp: tool.mcp }]))
    .toSorted((one, other) => (one.mcp.place ?? LAST) - (other.mcp.place ?? LAST))
    .map(({ tool, mcp }) => mcpTool(tool, mcp)),
];

function mcpTool(tool: ListedTool, { name, title, description, params = {}, shows }: McpText): McpTool {
  const { slug, files } = tool;
  const named = Object.entries(params).map(([param, { field = param, means }]): [string, Param] => {
    const text = means ?? textOf(field, tool.texts)?.means;
    if (text === undefined) throw new Error(`the field ${field} of ${slug} has no text`);
    return [param, { field, means: text }];
  });
  return {
    name: name ?? slug.replaceAll('-', '_'),
    title,
    description,
    slug,
    shape: tool.input.shape,
    files: files !== undefined && files.max > 1 ? 'several' : 'one',
    params: Object.fromEntries(named),
    ...(shows && { shows }),
  };
}
