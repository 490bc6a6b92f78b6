// What a request's head must be for its end to be known without doubt. Two programs on a connection that disagree about
// where a request ends can be made to take one client's bytes for another's request, so whatever is ambiguous is
// refused.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <string>

#include "fovea/serve/call.h"

namespace fovea::app {

using RequestHead = boost::beast::http::header<true, boost::beast::http::fields>;

// ApiError: 400 for a head that is ambiguous or broken, 411 for a body without a length, 417 for an expectation other
// than 100-continue, 501 for a transfer coding other than chunked.
void check_framing(const RequestHead& head);

// The path, percent-decoded and without its query; ApiError 400 for what is no path. An absolute target also sets the
// host.
std::string path_of(const RequestHead& head, std::string& host);

// A body in the encoding of HTML forms; ApiError 400 where it is broken.
std::map<std::string, std::string> url_encoded_form(const std::string& body);
// A multipart/form-data body. `file_name` becomes the name of the file in the field "file" or "image".
std::map<std::string, std::string> multipart_form(const std::string& body, const std::string& content_type,
                                                  std::string& file_name);

}  // namespace fovea::app
