/** Titles of views, as tabs and bookmarks have them: the service writes the same ones into the document. */

export const viewTitle = (view: string): string => `filemill: ${view}`;
