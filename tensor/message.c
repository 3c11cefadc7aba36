#include <hastings/tensor/message.h>

#include <stdarg.h>
#include <stdio.h>

hs_status hs_message_fail(hs_message *message, hs_status status, const char *format, ...)
{
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

void hs_message_clear(hs_message *message)
{
    if (message)
        message->text[0] = '\0';
}
