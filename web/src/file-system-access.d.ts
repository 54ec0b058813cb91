/** File System Access (WICG): what the page uses of it. Only some browsers have it, and TypeScript's library does not yet. */
interface Window {
  readonly showSaveFilePicker?: (options: {
    suggestedName: string;
    types: readonly { accept: Readonly<Record<string, readonly string[]>> }[];
  }) => Promise<FileSystemFileHandle>;
}
interface FileSystemFileHandle {
  remove?(): Promise<void>;
}
