// The tools: commands that are programs of their own beside dlhost, dlhost-NAME, so that what trains does not carry
// them. Who calls `dlhost NAME` gets that program, with the same command line.
#pragma once

#include "cli/command.h"

namespace dlhost::cli {

// Empty: there is no tool of that name.
const char* description_of_tool(std::string_view name);
// Where the command line asks for a tool, or for completion of one's, this process is that tool from now on. Returns
// where it does not, or where the tool is not there, which its command says then.
void become_tool(char** argv);
// For --help, completion, and what a wrong word may have been.
void add_tools(CLI::App&, Context&);
// What each tool says of itself for the manual page, on standard output.
void print_manuals_of_tools(Context&);

} // namespace dlhost::cli
