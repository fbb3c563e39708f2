// The tools: commands that are separate programs beside dlhost, named dlhost-NAME, so that the program that trains does
// not contain them. `dlhost NAME` becomes that program, with the same command line.
#pragma once

#include "cli/command.h"

namespace dlhost::cli {

// The description of a tool. Empty: there is no tool of that name.
const char* description_of_tool(std::string_view name);
// If the command line calls a tool, or completes one's command line, this process becomes the tool and the function
// does not return. It returns if there is no such call or the tool is not found; in the latter case the command that
// add_tools() adds reports the error.
void become_tool(char** argv);
// Adds a command for each tool, for --help, completion, and suggestions for misspelt commands.
void add_tools(CLI::App&, Context&);
// Prints each tool's part of the manual page to standard output.
void print_manuals_of_tools(Context&);

} // namespace dlhost::cli
