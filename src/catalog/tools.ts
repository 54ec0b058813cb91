/** All tools: those that something here can run, and those that are listed only. */
import type { AbsentTool, ListedTool } from './listed-tool.ts';
import type { AnyTool, Tool } from './tool.ts';
import { tools as all } from './tools.gen.ts';

const isAbsent = (tool: AnyTool): tool is AbsentTool => 'reason' in tool;

export const tools: readonly Tool[] = all.filter((tool): tool is Tool => !isAbsent(tool));
/** @returns undefined for one that is listed only, too */
export const toolNamed = (slug: string | undefined): Tool | undefined => tools.find((tool) => tool.slug === slug);
export const absentTools: readonly AbsentTool[] = all.filter(isAbsent);
export const listedTools: readonly ListedTool[] = all;
